import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Express } from 'express'
import { ApiError, type ErrorCode } from '../../errors.ts'
import { Connection } from './connection.ts'
import { expressPrototypes } from './express-prototypes.ts'
import { closeGracefully, createPacer, toRequestError, writeRejection } from './reject.ts'

/** How long a client may take, in milliseconds: for its headers, for a whole request, and between two requests. */
interface ClientTimeouts {
  headersMs: number
  requestMs: number
  keepAliveMs: number
}

/** Of listen(2): all clients of a failed peer may reconnect at once. The system's somaxconn caps it. */
const LISTEN_BACKLOG = 4_096

/** A request that was rejected before it reached the app. */
export interface RejectedRequest {
  requestId: string
  status: number
  code: ErrorCode
}

type Handle = (req: IncomingMessage, res: ServerResponse, done: () => void) => void

type OnRejected = (rejected: RejectedRequest) => void

export interface HttpServer {
  /** @returns the port that it listens on. Rejects when it cannot, with Node's error. */
  listen(port: number, host: string): Promise<number>
  /**
   * Shuts down gracefully: for `delayMs` it serves with `Connection: close`, so that clients reconnect; then it accepts
   * no more connections, lets requests in flight complete for `timeoutMs`, then closes the rest.
   */
  close(delayMs: number, timeoutMs: number): Promise<void>
}

/**
 * An HTTP server that replaces Node's own empty error responses with JSON errors.
 * @param onRejected called for each response that is not the app's, but not for connections that sent no bytes
 */
export function createHttpServer(app: Express, timeouts: ClientTimeouts, onRejected: OnRejected): HttpServer {
  const server = createServer({
    ...expressPrototypes(app),
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: 20, // so that few time out at once
    requireHostHeader: false,
  })
  // Cuts clients that do not read their response. Longer than all other timeouts, which send responses.
  server.timeout = Math.max(timeouts.keepAliveMs, timeouts.requestMs) + 5_000
  const connections = new Map<Duplex, Connection>()
  const handle = app as unknown as Handle // Express types the callback only for its own requests
  // All pipelining clients together get half of the processor.
  const scheduleResume = createPacer(1, 50)
  let shuttingDown = false

  server.on('connection', (socket) => {
    connections.set(socket, new Connection(socket, scheduleResume))
    socket.once('close', () => connections.delete(socket))
  })

  function serve(req: IncomingMessage, res: ServerResponse): void {
    const connection = connections.get(req.socket)
    connection?.begin(req, res)
    if (shuttingDown) connection?.closeAfterResponse()
    // The app rejects every target that is not a path. Its router would parse this one with the deprecated url.parse.
    if (!req.url?.startsWith('/') && !URL.canParse(req.url ?? '')) req.url = '*'
    handle(req, res, () => handleUnrouted(app, req, res))
  }
  server.on('request', serve)
  server.on('checkContinue', serve) // the body reader sends 100 Continue itself
  server.on('checkExpectation', serve) // the app rejects it
  handleFailures(server, connections, onRejected)

  return {
    listen: (port, host) => listen(server, port, host),
    async close(delayMs, timeoutMs) {
      shuttingDown = true
      for (const connection of connections.values()) connection.closeAfterResponse()
      await sleep(delayMs)
      await drain(server, connections, timeoutMs)
    },
  }
}

/** Handles what Express passes on: a target that it cannot parse, and an error after the response has begun. */
function handleUnrouted(app: Express, req: IncomingMessage, res: ServerResponse): void {
  if (res.headersSent) return void req.socket.destroy()
  req.url = '*' // no path either: the app rejects it, with its log and metrics
  app(req, res)
}

/** Handles what never becomes a request for the app: CONNECT, malformed and slow requests, idle connections. */
function handleFailures(server: Server, connections: Map<Duplex, Connection>, onRejected: OnRejected): void {
  // Thousands of clients may be too slow, or idle for too long, at the same moment.
  const schedule = createPacer(5, 0)

  server.on('connect', (_req, socket) => {
    const headers = { Allow: 'GET, HEAD, POST, OPTIONS' }
    const error = new ApiError('METHOD_NOT_ALLOWED', 'CONNECT is not supported.', { headers })
    rejectConnection(socket as Socket, error, onRejected) // a Duplex only if code emits `connection` itself
  })
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    const connection = connections.get(socket)
    if (!connection) return
    const handle = () => handleClientError(connection, cause, onRejected)
    if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT') schedule(handle)
    else handle()
  })
  server.on('timeout', (socket) => {
    const isServing = () => connections.get(socket)?.pendingResponse !== undefined
    if (isServing()) socket.destroy()
    else schedule(() => isServing() || socket.isPaused() || socket.destroy()) // a request may have arrived, or be next
  })
}

/** @returns the port. Rejects with Node's error when the server cannot listen there */
function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: LISTEN_BACKLOG }, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
}

/** Accepts no more connections, and closes existing ones: idle ones now, all others by the timeout. */
async function drain(server: Server, connections: Map<Duplex, Connection>, timeoutMs: number): Promise<void> {
  // http's own close() also destroys connections whose response has ended but has not been sent whole.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  for (const { pendingResponse, socket } of connections.values()) {
    if (!pendingResponse && socket.writable) socket.destroy() // idle
  }
  const cut = setTimeout(() => connections.forEach(({ socket }) => socket.destroy()), timeoutMs)
  await closed
  clearTimeout(cut)
}

/** Sends an error response for what Node's parser could not read, or did not get in time, and closes the connection. */
function handleClientError(connection: Connection, cause: NodeJS.ErrnoException, onRejected: OnRejected): void {
  const { socket } = connection
  if (cause.code === 'ECONNRESET') socket.destroy()
  if (!socket.writable) return
  const error = toRequestError(cause.code)
  if (connection.pendingResponse) connection.failRequest(error)
  else if (connection.respondedBeforeBodyEnd) closeGracefully(socket)
  else rejectConnection(socket, error, onRejected)
}

/** Sends an error response to what is not a request for the app, and closes the connection. */
function rejectConnection(socket: Socket, error: ApiError, onRejected: OnRejected): void {
  const requestId = randomUUID()
  writeRejection(socket, error, requestId)
  if (socket.bytesRead > 0) onRejected({ requestId, status: error.status, code: error.code })
}
