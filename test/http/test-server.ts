import { EventEmitter } from 'node:events'
import express, { Router } from 'express'
import { afterAll } from 'vitest'
import type { Caller } from '../../src/http/request.ts'
import { errorHandler } from '../../src/http/error-handler.ts'
import { parseBody, receiveBody } from '../../src/http/body.ts'
import { Deadline } from '../../src/http/deadline.ts'
import { KeptBytes } from '../../src/http/kept-bytes.ts'
import { createHttpServer, type HttpServer } from '../../src/http/connection/server.ts'

export const SHORT_TIMEOUTS = {
  headersTimeoutMs: 1_200,
  REQUEST_TIMEOUT_MS: 2_400,
  KEEP_ALIVE_TIMEOUT_MS: 1_500,
  writeTimeoutMs: 1_500,
  responseSpareMs: 2_000,
}

/** Longer than the timeout of a test. */
export const NO_TIMEOUTS = {
  headersTimeoutMs: 600_000,
  REQUEST_TIMEOUT_MS: 600_000,
  KEEP_ALIVE_TIMEOUT_MS: 600_000,
  writeTimeoutMs: 600_000,
  responseSpareMs: 0,
}

/** The routes of an app that reads bodies as both APIs do. Each file has its own: the files of a worker share modules. */
function createRoutes(events: EventEmitter, keptBytes: KeptBytes): Router {
  const routes = Router()
  routes.post('/', async (req, res) => {
    req.deadline = new Deadline(0) // not used
    req.caller = { clientId: 0n } as Caller // only its client counts
    parseBody(req, await receiveBody(req, res, keptBytes))
    setTimeout(() => res.status(201).json(req.body), 30) // simulates the database
  })
  routes.get('/', (_req, res) => void setTimeout(() => res.json('read'), 30))
  routes.get('/slow', (_req, res) => void setTimeout(() => res.json('slow'), 2_100))
  routes.get('/last', (_req, res) => void res.set('Connection', 'close').json('last'))
  routes.get('/large', (_req, res) => {
    res.once('close', () => events.emit('large closed'))
    res.end(Buffer.alloc(50_000_000))
  })
  return routes
}

/** Starts a server that is closed after the tests of the file. `createServer` creates further ones with its routes. */
export async function startServerOfFile(timeouts = SHORT_TIMEOUTS) {
  const [events, keptBytes] = [new EventEmitter(), new KeptBytes()]
  const routes = createRoutes(events, keptBytes)
  function createServer(own = timeouts, observe = () => {}): HttpServer {
    // A server extends the classes of its app, so that an app of two would count each response twice.
    const onError = errorHandler(() => {})
    const app = express().use(routes, onError)
    return createHttpServer(app, own, keptBytes, observe)
  }
  const server = createServer()
  afterAll(() => server.close(0, 0))
  return { port: await server.listen(0, '127.0.0.1'), events, routes, createServer }
}

export const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n'
export const get = 'GET / HTTP/1.1\r\nHost: x\r\n\r\n'
