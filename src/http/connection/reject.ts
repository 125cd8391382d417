import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../errors.ts'

/** A connection that was closed is read from for so long still, in milliseconds. */
const lingerMs = 2_000

/** So many of those that take turns act at once, and then none for a while, in milliseconds: some 4,000 in a second. */
const [atOnce, pauseMs] = [5, 1]

/** Has many act a few at a time, in order, so that requests are served in between. */
export function takeTurns(): (act: () => void) => void {
  const waiting: (() => void)[] = []
  function next(): void {
    for (const act of waiting.splice(0, atOnce)) act()
    if (waiting.length) setTimeout(next, pauseMs)
  }
  return (act) => {
    if (waiting.push(act) === 1) setTimeout(next, pauseMs)
  }
}

/** What an error of Node's parser says of a request. */
export function requestError(code: string | undefined): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('REQUEST_TIMEOUT', 'The request took too long to arrive.')
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('HEADERS_TOO_LARGE', 'The headers are larger than 16 KiB.')
  return new ApiError('INVALID_ARGUMENT', 'This is not a valid HTTP request.')
}

/** Writes an error where there is no response object to write it with, and closes. */
export function refuse(socket: Duplex, { body, status, headers }: ApiError, requestId: string): void {
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
  leave(socket)
}

/** Closes our half at once, and the other in a while: a client that is still sending would lose the answer (RFC 9112, 9.6). */
export function leave(socket: Duplex): void {
  socket.end()
  setTimeout(() => socket.destroy(), lingerMs).unref()
}
