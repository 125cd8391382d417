import { createServer, type RequestListener, type Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { ApiError } from '../errors.ts'

/** How long a client may take, in milliseconds: for its headers, for a whole request, and between two requests. */
const limits = { headersTimeout: 10_000, requestTimeout: 15_000, keepAliveTimeout: 65_000 }

/** An HTTP server whose every answer is ours: also those that Node gives itself, with an empty body. */
export function createHttpServer(app: RequestListener): Server {
  const server = createServer({ ...limits, connectionsCheckingInterval: 1_000, requireHostHeader: false }, app)
  // Node leaves a connection open whose request was in flight when the server closed, until it has idled long enough.
  server.on('request', (req, res) => {
    res.once('finish', () => {
      if (!server.listening) req.socket.destroySoon()
    })
  })
  server.on('checkExpectation', (_req, res) => {
    const error = new ApiError('EXPECTATION_FAILED', 'The only expectation supported is 100-continue.')
    res.writeHead(error.status, { 'Content-Type': 'application/json; charset=utf-8', Connection: 'close' })
    res.end(JSON.stringify(error.body))
  })
  server.on('clientError', (cause: NodeJS.ErrnoException, socket) => {
    if (!socket.writable || cause.code === 'ECONNRESET') return void socket.destroy()
    const { body } = clientError(cause.code)
    const json = JSON.stringify(body)
    const head = `HTTP/1.1 ${body.status} ${body.code}\r\nContent-Type: application/json; charset=utf-8`
    socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(json)}\r\nConnection: close\r\n\r\n${json}`)
  })
  return server
}

function clientError(code: string | undefined): ApiError {
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new ApiError('REQUEST_TIMEOUT', 'The request took too long to arrive.')
  if (code === 'HPE_HEADER_OVERFLOW') return new ApiError('HEADERS_TOO_LARGE', 'The headers are larger than 16 KiB.')
  return new ApiError('INVALID_ARGUMENT', 'This is not a valid HTTP request.')
}

/** @returns the port that the server listens on. Rejects when it cannot, with Node's error. */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address ? address.port : port)
    })
  })
}

/**
 * Ends a server in order: for `delayMs` it goes on serving but asks clients to come back on another connection, then
 * it accepts no more, lets requests in flight complete for `timeoutMs`, and cuts those that have not.
 */
export async function close(server: Server, delayMs: number, timeoutMs: number): Promise<void> {
  server.prependListener('request', (_req, res) => res.setHeader('Connection', 'close'))
  await sleep(delayMs)
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  const cut = setTimeout(() => server.closeAllConnections(), timeoutMs)
  await closed
  clearTimeout(cut)
}
