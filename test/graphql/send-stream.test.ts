import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import express from 'express'
import { expect, onTestFinished, test } from 'vitest'
import { mintKey } from '../../src/auth/api-key.ts'
import { sendStream } from '../../src/graphql/subscription/send-stream.ts'
import { createStreams } from '../../src/graphql/subscription/streams.ts'
import { SSE } from '../../src/graphql/subscription/transports.ts'
import { beginRequest } from '../../src/http/request.ts'
import { waitUntil } from '../support/timeouts.ts'

const CALLER = { keyId: 1n, clientId: 1n, name: 'test', keyPrefix: 'test', scopes: new Set<string>(), expiresAt: null }

/** More than the system takes of one write. */
const LARGE = Buffer.from(SSE.result(JSON.stringify('x'.repeat(30_000_000))))

test('a client that takes nothing is disconnected, also when its key was revoked before', async () => {
  const streams = createStreams({ STREAM_LIMIT: 0, STREAM_LIMIT_PER_KEY: 0 }, async () => true)
  const nextPart = async () => ({ data: LARGE, events: 1 })
  const app = express().use(beginRequest(60_000), async (req, res) => {
    req.caller = CALLER
    const stream = streams.open(res, CALLER, '')
    setImmediate(() => setImmediate(() => stream.end('unauthenticated'))) // after the write, and before any timer
    const dependencies = { config: { STREAM_WRITE_TIMEOUT_MS: 200 }, logError: () => {} }
    await sendStream(req, res, { stream, transport: SSE, nextPart }, dependencies)
  })
  const server = app.listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port).pause() // TCP
  onTestFinished(() => void client.destroy())
  client.on('error', () => {}) // it is cut
  client.write(
    `GET / HTTP/1.1\r\nHost: test\r\nAccept: text/event-stream\r\nAuthorization: Bearer ${mintKey()}\r\n\r\n`,
  )
  await waitUntil(() => streams.ended.unauthenticated === 1)
  expect(streams.size).toBe(0)
})
