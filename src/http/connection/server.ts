import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Express } from 'express'
import type { Config } from '../../config/config.ts'
import { ApiError } from '../../errors.ts'
import type { Limits } from '../../config/limits.ts'
import type { Observe } from '../../telemetry/observation.ts'
import type { KeptBytes } from '../kept-bytes.ts'
import { allowHeader, METHODS } from '../allowed-methods.ts'
import { ClientConnection } from './connection.ts'
import { createMessageClasses } from './message-classes.ts'

type ClientTimeouts = Pick<Config, 'REQUEST_TIMEOUT_MS' | 'KEEP_ALIVE_TIMEOUT_MS'> &
  Pick<Limits, 'headersTimeoutMs' | 'writeTimeoutMs' | 'responseSpareMs'>

/** The backlog of listen(2): all clients of a failed instance may reconnect at once. The system's somaxconn caps it. */
const LISTEN_BACKLOG = 4_096

/** A turn of the event loop that takes less than this, in milliseconds, is a short one. */
const QUIET_TURN_MS = 1

/** For how many turns a busy process waits for a short one before it stops listening. They take some seconds. */
const MAX_ACCEPT_TURNS = 1_000

type Handle = (req: IncomingMessage, res: ServerResponse, done: () => void) => void

export type HttpServer = ReturnType<typeof createHttpServer>

/**
 * An HTTP server that replaces Node's own empty error responses with JSON errors.
 * @param observe receives each response that the app did not send, except those on connections that sent no bytes
 */
export function createHttpServer(app: Express, timeouts: ClientTimeouts, keptBytes: KeptBytes, observe: Observe) {
  const server = createServer({
    ...createMessageClasses(app, (res) => keptBytes.holdUnread(res)),
    headersTimeout: Math.min(timeouts.headersTimeoutMs, timeouts.REQUEST_TIMEOUT_MS),
    requestTimeout: timeouts.REQUEST_TIMEOUT_MS,
    keepAliveTimeout: timeouts.KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: 20, // frequent checks, so that few requests time out in the same one
    requireHostHeader: false,
  })
  server.maxHeadersCount = 0 // by default, Node ignores headers after the first 1,000; their total size is limited
  // Cuts clients that do not read their response, but not before a request that times out has got a response.
  server.timeout = Math.max(timeouts.writeTimeoutMs, timeouts.REQUEST_TIMEOUT_MS + timeouts.responseSpareMs)
  const connections = new Map<Duplex, ClientConnection>()
  const handle = app as unknown as Handle // Express types the callback only for its own requests
  let shuttingDown = false

  server.on('connection', (socket) => {
    connections.set(socket, new ClientConnection(socket))
    socket.once('close', () => connections.delete(socket))
  })

  function serve(req: IncomingMessage, res: ServerResponse): void {
    const connection = connections.get(req.socket)
    if (!connection?.begin(req, res)) return
    if (shuttingDown) connection.closeAfterResponse()
    // The app rejects every target that is not a path. Its router would parse this one with the deprecated url.parse.
    if (!req.url?.startsWith('/') && !URL.canParse(req.url ?? '')) req.url = '*'
    handle(req, res, () => handleUnrouted(app, req, res))
  }
  server.on('request', serve)
  server.on('checkContinue', serve) // the body reader sends 100 Continue itself
  server.on('checkExpectation', serve) // the app rejects it
  handleFailures(server, connections, observe)

  return {
    /** @returns the port. Rejects with Node's error when the server cannot listen there */
    async listen(port: number, host: string): Promise<number> {
      server.listen({ port, host, backlog: LISTEN_BACKLOG })
      await once(server, 'listening')
      return (server.address() as AddressInfo).port // a listening TCP server has one
    },
    /**
     * Shuts down gracefully. For `delayMs` it serves as before, so that load balancers stop sending requests. Then it
     * accepts no more connections, and sends `Connection: close` on existing ones. It closes idle connections after
     * `idleMs`, so that a request that a client is just sending is served. It closes each other connection when no request
     * is in flight on it, at the latest after `timeoutMs`.
     */
    async close(delayMs: number, timeoutMs: number, idleMs = Math.min(delayMs, timeoutMs)): Promise<void> {
      if (delayMs) await sleep(delayMs)
      shuttingDown = true
      // On each other connection, the client may send one more request, whose response has `Connection: close`.
      for (const connection of connections.values()) if (connection.canAnnounceClose) connection.closeAfterResponse()
      await acceptWaiting(server)
      await drain(server, connections, idleMs, timeoutMs)
    },
  }
}

/** Handles what Express passes on: a request whose target it cannot parse, or an error after the response has begun. */
function handleUnrouted(app: Express, req: IncomingMessage, res: ServerResponse): void {
  if (res.headersSent) return void req.socket.destroy()
  req.url = '*' // not a path, but Express can parse it: the app rejects, logs and counts the request
  app(req, res)
}

/** Handles what never becomes a request for the app: CONNECT, malformed and slow requests, idle connections. */
function handleFailures(server: Server, connections: Map<Duplex, ClientConnection>, observe: Observe): void {
  const schedule = createPacer() // thousands of clients may be too slow at the same moment

  /** Closes a connection after its responses in progress or, if there are none, after an error response. */
  function fail(socket: Duplex, error: ApiError): void {
    const connection = connections.get(socket)
    if (!connection || !socket.writable) return
    if (connection.isServing) return connection.failRequest(error)
    const requestId = randomUUID()
    connection.reject(error, requestId)
    const { status, code } = error
    if (connection.socket.bytesRead > 0) observe({ type: 'request-rejected', requestId, status, code })
  }

  server.on('connect', (_req, socket) => {
    const headers = { Allow: allowHeader(METHODS) }
    fail(socket, new ApiError('METHOD_NOT_ALLOWED', 'CONNECT is not supported.', { headers }))
  })
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    if (code === 'ECONNRESET') socket.destroy()
    else if (code === 'ERR_HTTP_REQUEST_TIMEOUT') schedule(() => fail(socket, new ApiError('REQUEST_TIMEOUT')))
    else if (code === 'HPE_HEADER_OVERFLOW') fail(socket, new ApiError('HEADERS_TOO_LARGE'))
    else fail(socket, new ApiError('INVALID_ARGUMENT', 'This is not a valid HTTP request.'))
  })
  server.on('timeout', (socket) => {
    const isServing = () => connections.get(socket)?.isServing
    if (isServing()) socket.destroy()
    else schedule(() => isServing() || socket.destroy()) // unless a request has arrived meanwhile
  })
}

/** Runs many actions in order, one in each turn of the event loop, so that requests are served in between. */
function createPacer(): (action: () => void) => void {
  let last: Promise<unknown> = Promise.resolve()
  return (action) => void (last = last.then(() => nextTurn()).then(action))
}

/**
 * Accepts the connections that wait in the kernel, because they would be reset when the server stops listening. Node
 * accepts one in each turn of the event loop. The wait ends after a short turn that accepted none: the queue is empty.
 */
async function acceptWaiting(server: Server): Promise<void> {
  let accepted = false
  const onConnection = () => (accepted = true)
  server.on('connection', onConnection)
  for (let turn = 0; turn < MAX_ACCEPT_TURNS; turn++) {
    accepted = false
    const beganAtMs = performance.now()
    await nextTurn()
    if (!accepted && performance.now() - beganAtMs < QUIET_TURN_MS) break
  }
  server.off('connection', onConnection)
}

/** Accepts no more connections, and closes existing ones: idle ones after `idleMs`, all others by the timeout. */
async function drain(server: Server, connections: Map<Duplex, ClientConnection>, idleMs: number, timeoutMs: number) {
  // http's own close() also destroys connections whose response has ended but has not been sent whole.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  const cut = setTimeout(() => connections.forEach(({ socket }) => socket.destroy()), timeoutMs)
  await Promise.race([closed, sleep(idleMs, undefined, { ref: false })])
  for (const connection of connections.values()) {
    if (connection.isServing) connection.closeAfterResponse()
    else if (connection.socket.writable) connection.socket.destroy() // idle
  }
  await closed
  clearTimeout(cut)
  server.close() // ends the timer of connectionsCheckingInterval, which keeps the service in memory
}
