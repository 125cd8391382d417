import express from 'express'
import { pino } from 'pino'
import { vi } from 'vitest'
import { errorHandler } from '../../src/http/error-handler.ts'
import { jsonBody } from '../../src/http/body.ts'
import { createHttpServer, type HttpServer, type RejectedRequest } from '../../src/http/connection/server.ts'

// An app that reads bodies as the faces do, on a server with little patience.
export const times = { headersMs: 1_200, requestMs: 2_400, keepAliveMs: 1_500 }
export const app = express()
app.post('/', jsonBody, (req, res) => void setTimeout(() => res.status(201).json(req.body), 30)) // as a database does
app.get('/', (_req, res) => void setTimeout(() => res.json('read'), 30))
app.get('/slow', (_req, res) => void setTimeout(() => res.json('slow'), 2_100))
app.get('/last', (_req, res) => void res.set('Connection', 'close').json('last'))
app.get('/large', (_req, res) => {
  res.once('close', () => app.emit('large over'))
  res.end(Buffer.alloc(50_000_000))
})
app.use(errorHandler(pino({ level: 'silent' }), (error) => error.body))
/** What was answered without the app. */
export const refused = vi.fn<(rejected: RejectedRequest) => void>()

export function createImpatientServer(): HttpServer {
  return createHttpServer(app, times, refused)
}

export const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n'
export const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
export const slow = 'GET /slow HTTP/1.1\r\nHost: x\r\n\r\n'
