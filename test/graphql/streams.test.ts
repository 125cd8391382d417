import { EventEmitter, once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express, { type Response } from 'express'
import { expect, onTestFinished, test, vi } from 'vitest'
import { KEY_CACHE_MS } from '../../src/auth/key-lookup.ts'
import { sendStream } from '../../src/graphql/subscription/send-stream.ts'
import { createStreams, type Streams, VERIFY_MS } from '../../src/graphql/subscription/streams.ts'
import { SSE } from '../../src/graphql/subscription/transports.ts'
import { KeptBytes } from '../../src/http/kept-bytes.ts'
import { beginRequest } from '../../src/http/request.ts'
import { openSocket } from '../support/raw-http.ts'
import { waitUntil } from '../support/timeouts.ts'

const LIMITS = { STREAM_LIMIT: 0, streamsPerClient: Infinity, verifyTimeoutMs: 500 }
const CALLER = { keyId: 1n, clientId: 1n, keyPrefix: 'test', scopes: new Set<string>(), expiresAt: null }

test('a drain ends all streams at different moments within its time, new ones too', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const streams = createStreams(LIMITS, async () => true)
  const open = () => streams.open(new EventEmitter() as Response, CALLER, '') // all that it uses of a response
  const all = Array.from({ length: 100 }, open)
  streams.drain(1_000)
  vi.advanceTimersByTime(300)
  all.push(...Array.from({ length: 100 }, open))
  const ended = (from: number) => new Set(all.slice(from, from + 100).map(({ endReason }) => endReason === 'shutdown'))
  expect([ended(0), ended(100)]).toEqual([new Set([true, false]), new Set([false])])
  vi.advanceTimersByTime(400)
  expect(ended(100)).toEqual(new Set([true, false]))
  vi.advanceTimersByTime(300)
  expect([ended(0), ended(100)]).toEqual([new Set([true]), new Set([true])])
})

const succeeds = async () => true
const fails = () => Promise.reject(new Error('not in time'))
const hangs = () => new Promise<boolean>(() => {})

test.for<[what: string, verifications: (() => Promise<boolean>)[], firstMs: number, openMs: number, endMs: number]>([
  ['fails, and the key was cached', [fails], VERIFY_MS, VERIFY_MS - 1, VERIFY_MS],
  ['fails twice', [succeeds, fails, fails], VERIFY_MS, 2 * VERIFY_MS, 3 * VERIFY_MS],
  ['does not end', [hangs], VERIFY_MS, VERIFY_MS + 500, 4_999 - KEY_CACHE_MS], // a verification has its time
  ['did not end', [hangs, succeeds], 0, VERIFY_MS + 4_800, VERIFY_MS + 4_999],
])('a stream ends within 5 s of the last success when a verification %s', async ([, list, firstMs, openMs, endMs]) => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const left = [...list]
  const streams = createStreams(LIMITS, () => (left.shift() ?? expect.unreachable())())
  const stream = streams.open(new EventEmitter() as Response, CALLER, '') // as above
  for (const n of list.keys()) setTimeout(streams.verifyAll, firstMs + n * VERIFY_MS)
  await vi.advanceTimersByTimeAsync(openMs)
  expect(stream.endReason).toBeUndefined()
  await vi.advanceTimersByTimeAsync(endMs - openMs)
  expect(stream.endReason).toBe('unverified')
})

test('a stream of a client that has gone is not counted', () => {
  const streams = createStreams({ ...LIMITS, STREAM_LIMIT: 1, streamsPerClient: 1 }, async () => true)
  const gone = Object.assign(new EventEmitter(), { destroyed: true, req: {} }) as Response // as above
  for (let n = 0; n < 2; n++) expect(streams.open(gone, CALLER, '').endReason).toBe('client')
  expect(streams.size).toBe(0)
})

type Stream = ReturnType<Streams['open']>

/** One event that is more than the system takes of one write, and than half of what one client may make the process keep. */
const LARGE = Buffer.from(SSE.result(JSON.stringify('x'.repeat(8_000_000))))

/** Streams of one client, which reads nothing. Each sends one event. */
async function startUnread(writeTimeoutMs: number, onStream: (stream: Stream) => void = () => {}) {
  const streams = createStreams(LIMITS, async () => true)
  const nextPart = async () => ({ data: LARGE, events: 1 })
  const keptBytes = new KeptBytes()
  const app = express()
  app.get('/slow', (_req, res) => void setTimeout(() => res.end(), 1_000))
  app.use(async (req, res) => {
    beginRequest(req, res, 60_000)
    req.caller = CALLER
    const stream = streams.open(res, CALLER, '')
    onStream(stream)
    const dependencies = { limits: { writeTimeoutMs }, keptBytes, observe: () => {} }
    await sendStream(req, res, { stream, transport: SSE, nextPart }, dependencies)
  })
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // TCP
  const request = 'GET / HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\nAuthorization: Bearer any\r\n\r\n'
  const open = (before = '') => openSocket(port, before + request).pause()
  return { streams, open }
}

test('a client that takes nothing is disconnected, also when its key was revoked before', async () => {
  // After the write, and before any timer.
  const revoke = (stream: Stream) => setImmediate(() => setImmediate(() => stream.end('unauthenticated')))
  const { streams, open } = await startUnread(2_000, revoke)
  open()
  await waitUntil(() => streams.endedCounts.unauthenticated === 1)
  expect(streams.size).toBe(0)
})

test('a stream that ends behind another response does not shorten the time which that one may take', async () => {
  const { streams, open } = await startUnread(100, (stream) => stream.end('unauthenticated'))
  const socket = open('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n')
  await waitUntil(() => streams.size === 1)
  expect(String(await once(socket.resume(), 'data'))).toMatch(/^HTTP\/1\.1 200 /)
})

test('a stream whose unread event takes more than what one client may make the process keep is cut, and no other', async () => {
  const { streams, open } = await startUnread(3_600_000)
  open()
  await waitUntil(() => streams.size === 1)
  expect(streams.endedCounts.slow).toBe(0)
  open()
  await waitUntil(() => streams.endedCounts.slow === 1)
  expect(streams.size).toBe(1)
})
