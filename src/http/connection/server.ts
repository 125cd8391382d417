import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Express } from 'express'
import { ApiError, type ErrorCode } from '../../errors.ts'
import { expressPrototypes } from './express-prototypes.ts'
import { leave, refuse, requestError, takeTurns } from './reject.ts'

/** How long a client may take, in milliseconds: for its headers, for a whole request, and between two requests. */
export interface ClientTimeouts {
  headersMs: number
  requestMs: number
  keepAliveMs: number
}

/** So many connections may wait to be accepted, if the system allows for it: all clients of a server that was lost. */
const backlog = 4_096

/** What was answered to a client without a request for the app. */
export interface Refusal {
  requestId: string
  status: number
  code: ErrorCode
}

export interface HttpServer {
  /** @returns the port that it listens on. Rejects when it cannot, with Node's error. */
  listen(port: number, host: string): Promise<number>
  /**
   * Ends in order: for `delayMs` it goes on serving but asks clients to come back on another connection; then it
   * accepts no more, lets requests in flight complete for `timeoutMs`, and cuts those that have not.
   */
  close(delayMs: number, timeoutMs: number): Promise<void>
}

/**
 * An HTTP server whose every answer is ours: also those that Node gives itself, with an empty body.
 * @param onRefused told of answers that are not the app's, but for those to connections that never said a byte
 */
export function createHttpServer(
  app: Express,
  timeouts: ClientTimeouts,
  onRefused: (refusal: Refusal) => void,
): HttpServer {
  const server = createServer({
    ...expressPrototypes(app),
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    keepAliveTimeout: timeouts.keepAliveMs,
    connectionsCheckingInterval: 20, // so that few at once are found too slow
    requireHostHeader: false,
  })
  // A client that does not even read its answer: later than any other limit, so that those give their own answers.
  server.timeout = Math.max(timeouts.keepAliveMs, timeouts.requestMs) + 5_000
  /** The answers that each connection is owed, in order. Clients may send a request before the last is answered. */
  const owed = new Map<Duplex, Set<ServerResponse>>()
  /** Connections whose request was answered before it was read whole: what comes next of it gets no second answer. */
  const answeredEarly = new WeakSet<Duplex>()
  /** Connections that close behind the answers that they are owed: what is sent on them still has no effect. */
  const broken = new WeakSet<Duplex>()
  const inTurn = takeTurns()
  let closing = false

  server.on('connection', (socket) => {
    owed.set(socket, new Set())
    socket.on('error', () => {}) // Node leaves none of its own behind CONNECT
    socket.destroySoon = () => leave(socket) // so Node closes behind the last answer
    socket.once('close', () => owed.delete(socket))
  })

  function serve(req: IncomingMessage, res: ServerResponse): void {
    const { socket } = req
    const last = lastOwed(socket)
    const lastIsOut = last?.headersSent && last.getHeader('Connection') === 'close'
    if (!socket.writable || broken.has(socket) || lastIsOut) return // nobody would ever see the answer
    const answers = owed.get(socket) ?? new Set()
    if (closing) askToLeave(answers, res)
    answers.add(res)
    res.once('close', () => {
      answers.delete(res)
      if (!req.complete) {
        answeredEarly.add(socket)
        req.once('end', () => answeredEarly.delete(socket))
      }
      if (closing && answers.size === 0) socket.destroySoon()
    })
    app(req, res)
  }
  server.on('request', serve)
  server.on('checkContinue', serve) // whoever reads the body says 100, once it wants it
  server.on('checkExpectation', serve) // the app refuses it in its turn
  server.on('connect', (_req, socket) => {
    socket.resume()
    const headers = { Allow: 'GET, HEAD, POST, OPTIONS' }
    turnAway(socket, new ApiError('METHOD_NOT_ALLOWED', 'This is no proxy.', { headers }))
  })
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    // Thousands may be too slow, or idle for too long, at the same moment.
    if (cause.code === 'ERR_HTTP_REQUEST_TIMEOUT') inTurn(() => giveUp(cause, socket))
    else giveUp(cause, socket)
  })

  server.on('timeout', (socket) => {
    if (lastOwed(socket)) socket.destroy()
    else inTurn(() => lastOwed(socket) ?? socket.destroy()) // a request may still come before its turn
  })

  function giveUp(cause: NodeJS.ErrnoException, socket: Duplex): void {
    if (cause.code === 'ECONNRESET') socket.destroy()
    if (!socket.writable || broken.has(socket)) return // is closing: Node tells of every chunk that comes still
    broken.add(socket)
    const error = requestError(cause.code)
    const last = lastOwed(socket)
    // When it is the body of this one that is awaited, the error is its answer.
    if (last && !last.req.complete) {
      if (!last.headersSent) last.setHeader('Connection', 'close')
      last.req.broken = error
      last.req.emit('broken', error)
    }
    turnAway(socket, error)
  }

  function lastOwed(socket: Duplex): ServerResponse | undefined {
    return [...(owed.get(socket) ?? [])].at(-1)
  }

  /** Closes, with an error unless it would be taken for the answer to a request that is being worked on, or for a second. */
  function turnAway(socket: Duplex, error: ApiError): void {
    const last = lastOwed(socket)
    if (last) return void last.once('close', () => leave(socket))
    if (answeredEarly.has(socket)) return leave(socket)
    const requestId = randomUUID()
    refuse(socket, error, requestId)
    const silent = socket instanceof Socket && socket.bytesRead === 0
    if (!silent) onRefused({ requestId, status: error.status, code: error.code })
  }

  return {
    listen(port, host) {
      return new Promise((resolve, reject) => {
        server.once('error', reject)
        server.listen({ port, host, backlog }, () => {
          server.off('error', reject)
          const address = server.address()
          resolve(typeof address === 'object' && address ? address.port : port)
        })
      })
    },
    async close(delayMs, timeoutMs) {
      closing = true
      for (const answers of owed.values()) {
        const last = [...answers].at(-1)
        if (last) askToLeave(answers, last)
      }
      await sleep(delayMs)
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const [socket, answers] of owed) if (answers.size === 0 && socket.writable) socket.destroy() // idle
      const cut = setTimeout(() => owed.forEach((_answers, socket) => socket.destroy()), timeoutMs)
      await closed
      clearTimeout(cut)
    },
  }
}

/** Has the connection closed after its last answer, and not before: Node closes after the one that says so. */
function askToLeave(earlier: Set<ServerResponse>, last: ServerResponse): void {
  for (const res of earlier) if (!res.headersSent) res.removeHeader('Connection')
  if (!last.headersSent) last.setHeader('Connection', 'close')
}
