import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiError } from '../../errors.ts'
import { COMMON_HEADERS } from '../request.ts'

/** Runs many actions in order, five in each millisecond, so that requests are served in between. */
export function createPacer(): (action: () => void) => void {
  const waiting: (() => void)[] = []

  function runSome(): void {
    for (const action of waiting.splice(0, 5)) action()
    if (waiting.length) setTimeout(runSome, 1)
  }
  return (action) => {
    if (waiting.push(action) === 1) setTimeout(runSome, 1)
  }
}

export function writeRejection(socket: Socket, { body, status, headers }: ApiError, requestId: string): void {
  const json = JSON.stringify(body)
  const fields = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(json),
    'X-Request-Id': requestId,
    ...Object.fromEntries(COMMON_HEADERS),
    ...headers,
    Connection: 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${json}`)
}
