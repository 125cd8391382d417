import { STATUS_CODES } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../errors.ts'

/** Lingering close: how long a connection is still read from after our half of it was closed, in milliseconds. */
const LINGER_MS = 2_000

/**
 * Runs many actions in order, a few in each millisecond, so that other requests are served in between.
 * @param maxPauseMs how long actions wait until the event loop was idle for half of the time since the last ones
 */
export function createPacer(actionsPerMs: number, maxPauseMs: number): (action: () => void) => void {
  const waiting: (() => void)[] = []
  let since = performance.eventLoopUtilization()

  function runSome(): void {
    const { active, idle } = performance.eventLoopUtilization(since)
    if (active <= idle || active + idle > maxPauseMs) {
      for (const action of waiting.splice(0, actionsPerMs)) action()
      since = performance.eventLoopUtilization()
    }
    if (waiting.length) setTimeout(runSome, 1)
  }
  return (action) => {
    if (waiting.push(action) === 1) setTimeout(runSome, 1)
  }
}

/** The error response to a request that Node's parser could not read. @param code of Node's error */
export function toRequestError(code: string | undefined): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return new ApiError('REQUEST_TIMEOUT')
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('HEADERS_TOO_LARGE')
  return new ApiError('INVALID_ARGUMENT', 'This is not a valid HTTP request.')
}

/** Writes an error response to a socket without a ServerResponse, and closes the connection. */
export function writeRejection(socket: Duplex, { body, status, headers }: ApiError, requestId: string): void {
  const json = JSON.stringify(body)
  const fields = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    ...headers,
    Connection: 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${json}`)
  closeGracefully(socket)
}

/**
 * Closes our half of the connection at once, and the other half later: a client that is still sending would lose the
 * response if both were closed (RFC 9112 §9.6).
 */
export function closeGracefully(socket: Duplex): void {
  socket.end()
  socket.resume() // what is still sent has to be read
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
