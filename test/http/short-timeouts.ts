import express from 'express'
import { vi } from 'vitest'
import { errorHandler } from '../../src/http/error-handler.ts'
import { jsonBody } from '../../src/http/body.ts'
import { createHttpServer, type HttpServer, type RejectedRequest } from '../../src/http/connection/server.ts'

// An app that reads bodies like both APIs, on a server with short timeouts.
export const times = {
  HEADERS_TIMEOUT_MS: 1_200,
  REQUEST_TIMEOUT_MS: 2_400,
  KEEP_ALIVE_TIMEOUT_MS: 1_500,
  STREAM_WRITE_TIMEOUT_MS: 1_500,
}
export const app = express()
app.post('/', jsonBody, (req, res) => void setTimeout(() => res.status(201).json(req.body), 30)) // simulates the database
app.get('/', (_req, res) => void setTimeout(() => res.json('read'), 30))
app.get('/slow', (_req, res) => void setTimeout(() => res.json('slow'), 2_100))
app.get('/last', (_req, res) => void res.set('Connection', 'close').json('last'))
app.get('/large', (_req, res) => {
  res.once('close', () => app.emit('large closed'))
  res.end(Buffer.alloc(50_000_000))
})
app.use(errorHandler(() => {}))
/** Called with each request that the server rejects without the app. */
export const onRejected = vi.fn<(rejected: RejectedRequest) => void>()

export function createShortTimeoutServer(): HttpServer {
  return createHttpServer(app, times, onRejected)
}

export const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n'
export const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
export const slow = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'
