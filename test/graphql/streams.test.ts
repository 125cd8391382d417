import { EventEmitter } from 'node:events'
import type { Response } from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createStreams } from '../../src/graphql/subscription/streams.ts'

const CALLER = { keyId: 1n, clientId: 1n, name: 'test', keyPrefix: 'test', scopes: new Set<string>(), expiresAt: null }

test('a drain ends all streams at different moments within its time, new ones too', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const streams = createStreams({ STREAM_LIMIT: 0, STREAM_LIMIT_PER_KEY: 0 }, async () => true)
  const open = () => streams.open(new EventEmitter() as Response, CALLER, '') // all that it uses of a response
  const all = Array.from({ length: 100 }, open)
  streams.drain(1_000)
  vi.advanceTimersByTime(300)
  all.push(...Array.from({ length: 100 }, open))
  const ended = () => all.map(({ endReason }) => endReason === 'shutdown')
  expect([new Set(ended().slice(0, 100)), new Set(ended().slice(100))]).toEqual([
    new Set([true, false]),
    new Set([false]),
  ])
  vi.advanceTimersByTime(400)
  expect(new Set(ended().slice(100))).toEqual(new Set([true, false]))
  vi.advanceTimersByTime(300)
  expect(new Set(ended())).toEqual(new Set([true]))
})

test('a stream of a client that has gone is not counted', () => {
  const streams = createStreams({ STREAM_LIMIT: 1, STREAM_LIMIT_PER_KEY: 1 }, async () => true)
  const gone = Object.assign(new EventEmitter(), { destroyed: true, req: {} }) as Response // as above
  for (let n = 0; n < 2; n++) expect(streams.open(gone, CALLER, '').endReason).toBe('client')
  expect(streams.size).toBe(0)
})
