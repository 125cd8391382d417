import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiError } from '../../errors.ts'
import { COMMON_HEADERS } from '../request.ts'

/** Maximum number of pipelined requests in flight. A further one is not served, and closes the connection. */
export const MAX_IN_FLIGHT = 8

/** Lingering close: for how many milliseconds, and how many bytes, a client may still send after the last response. */
const LINGER_MS = 2_000
const LINGER_BYTES = 64 * 1024

/** A client's connection: bounds what it may send, and closes it without losing the last response (decision 21). */
export class ClientConnection {
  readonly socket: Socket
  /** The requests in flight, by their responses, oldest first. */
  readonly #inFlight = new Map<ServerResponse, IncomingMessage>()
  /** If true, no further request is served, and the connection is closed when no request is in flight. */
  #isLast = false
  #isClosing = false
  #isReading = true

  constructor(socket: Socket) {
    this.socket = socket
    void socket.remoteAddress // read now, because Node caches it and a closed socket has none
    socket.on('error', () => {}) // after CONNECT Node has no listener of its own
    socket.destroySoon = () => this.close() // Node calls it after the last response
    socket.once('close', () => this.#abortQueued())
  }

  get isServing(): boolean {
    return this.#inFlight.size > 0
  }

  /** Whether the headers of the last response can still say that the connection closes. */
  get canAnnounceClose(): boolean {
    return [...this.#inFlight.keys()].at(-1)?.headersSent === false
  }

  /** @returns false for a request after the last one that the connection serves: its client repeats it (RFC 9112 §9.3.2) */
  begin(req: IncomingMessage, res: ServerResponse): boolean {
    if (this.#inFlight.size === MAX_IN_FLIGHT) this.closeAfterResponse()
    if (this.#isLast || this.#isClosing) {
      this.#stopReading()
      return false
    }
    this.#inFlight.set(res, req)
    res.once('close', () => {
      this.#inFlight.delete(res)
      if (!req.complete || (this.#isLast && !this.isServing)) this.close()
    })
    if (this.#isFollowed(req)) this.closeAfterResponse()
    return true
  }

  /** Whether bytes after a request with `Upgrade` (RFC 9110 §7.8) came with it: Node serves the request, but loses them. */
  #isFollowed({ headers }: IncomingMessage): boolean {
    if (headers.upgrade === undefined) return false
    const { parser } = this.socket as { parser?: { getCurrentBuffer?(): Buffer } | null } // not documented by Node
    const bytes = parser?.getCurrentBuffer?.() ?? Buffer.alloc(0) // without the buffer: as if bytes followed
    const headEnd = bytes.indexOf('\r\n\r\n') // -1 if the head began in an earlier read, whose length is not known
    const end = headEnd + 4 + Number(headers['content-length'] ?? 0)
    return 'transfer-encoding' in headers || headEnd < 0 || end !== bytes.length
  }

  /** Closes the connection after the responses in progress. The last one announces that, unless its headers are sent. */
  closeAfterResponse(): void {
    if (!this.isServing) return
    this.#isLast = true
    const last = [...this.#inFlight.keys()].at(-1)
    if (last && !last.headersSent) last.setHeader('Connection', 'close')
  }

  /**
   * Closes the connection after the responses in progress, and parses nothing more.
   * @param error the response to the last request, if its body is still arriving
   */
  failRequest(error: ApiError): void {
    this.closeAfterResponse()
    this.#stopReading()
    const last = [...this.#inFlight.values()].at(-1)
    if (!last || last.complete || last.bodyError) return
    last.bodyError = error
    last.onBodyError?.(error)
  }

  /** Sends an error response for input that never became a request, and closes the connection. */
  reject({ body, status, headers }: ApiError, requestId: string): void {
    const json = JSON.stringify(body)
    const fields = {
      Date: new Date().toUTCString(),
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(json),
      'X-Request-Id': requestId,
      ...Object.fromEntries(COMMON_HEADERS),
      ...headers,
      Connection: 'close',
    }
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
    this.socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${json}`)
    this.close()
  }

  /**
   * Closes our half of the connection at once, and the other half later: a client that is still sending would lose the
   * response if both were closed (RFC 9112 §9.6).
   */
  close(): void {
    if (this.#isClosing || this.socket.destroyed) return
    this.#isClosing = true
    this.socket.end()
    this.#stopReading()
    setTimeout(() => this.socket.destroy(), LINGER_MS).unref()
  }

  /** Node emits `close` only for the response being sent. Queued ones hold streams and memory until their `close`. */
  #abortQueued(): void {
    for (const res of this.#inFlight.keys()) {
      if (!res.socket) res.destroy().emit('close')
    }
  }

  /** Parses nothing more. Discards LINGER_BYTES that still arrive, and leaves further ones in the kernel's buffer. */
  #stopReading(): void {
    if (!this.#isReading) return
    this.#isReading = false
    const { socket } = this
    // Node would parse all requests that it has read with this one, a thousand or more. A 2, as for an upgrade, ends that.
    const { parser } = socket as { parser?: { onIncoming: () => number } | null } // not documented by Node
    if (parser) parser.onIncoming = () => 2
    let discarded = 0
    socket.removeAllListeners('data').on('data', (bytes: Buffer) => {
      discarded += bytes.length
      if (discarded > LINGER_BYTES) socket.pause()
    })
    socket.resume()
  }
}
