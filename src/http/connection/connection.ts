import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiError } from '../../errors.ts'
import { closeGracefully } from './reject.ts'

/** Ends the head of every request, and every chunked body (RFC 9112 §2.1, §7.1). */
const BLANK_LINE = '\r\n\r\n'

/**
 * A client's connection, which serves one request at a time, as nginx and Go's net/http do: bytes behind a request are
 * parsed once its response has been sent. Until then they stay in the socket, which is paused. Node itself parses all
 * requests that one read of 64 KiB brings, thousands of them, and keeps each response for a client that reads none.
 */
export class Connection {
  readonly socket: Socket
  /** The response in progress. */
  pendingResponse: ServerResponse | undefined
  /** The request that was parsed last, until its response has been sent. */
  #request: IncomingMessage | undefined
  /** The bytes of its body that are not parsed yet, by Content-Length. */
  #bodyBytesLeft = 0
  /** The last bytes parsed, if a blank line may begin in them. */
  #tail = ''
  #closesAfterResponse = false
  /** Nothing more is parsed. */
  #failed = false
  readonly #parse: (bytes: Buffer) => void
  readonly #schedule: (action: () => void) => void

  /**
   * @param socket as http's server emits it with the event `connection`
   * @param schedule runs a few actions at a time, so that pipelining clients do not block others
   */
  constructor(socket: Socket, schedule: (action: () => void) => void) {
    this.socket = socket
    this.#schedule = schedule
    socket.on('error', () => {}) // after CONNECT Node has no listener of its own
    socket.destroySoon = () => closeGracefully(socket) // Node calls it after the last response
    this.#parse = interceptData(socket, (bytes) => this.#receive(bytes))
  }

  /** Whether the body of a request is still arriving whose response has been sent, such as a 413. */
  get respondedBeforeBodyEnd(): boolean {
    return !this.pendingResponse && this.#request?.complete === false
  }

  /** Starts a request whose head has been parsed. */
  begin(req: IncomingMessage, res: ServerResponse): void {
    this.#request = req
    this.pendingResponse = res
    this.#bodyBytesLeft = Number(req.headers['content-length'] ?? 0)
    res.once('close', () => this.#endResponse())
  }

  /** Closes after the pending response, if there is one; with `Connection: close` if its headers are not sent. */
  closeAfterResponse(): void {
    if (!this.pendingResponse) return
    this.#closesAfterResponse = true
    if (!this.pendingResponse.headersSent) this.pendingResponse.setHeader('Connection', 'close')
  }

  /**
   * Closes after the pending response, and parses nothing more.
   * @param error the response, if the body is still arriving
   */
  failRequest(error: ApiError): void {
    if (this.#failed) return
    this.#failed = true
    this.closeAfterResponse()
    if (!this.#request || this.#request.complete) return
    this.#request.bodyError = error
    this.#request.emit('bodyError', error)
  }

  #endResponse(): void {
    this.pendingResponse = undefined
    if (this.#request?.complete) this.#request = undefined
    if (this.#closesAfterResponse) closeGracefully(this.socket)
    else if (this.socket.isPaused()) this.#schedule(() => this.socket.resume())
  }

  #receive(bytes: Buffer): void {
    let rest = bytes
    while (rest.length > 0) {
      if (this.#failed || !this.socket.writable) return // the last response has been sent: the rest has no effect
      const isServing = this.pendingResponse && this.#request?.complete
      // Node pauses the socket, too, for a body that the app does not read yet.
      if (isServing || this.socket.isPaused()) {
        this.socket.pause()
        this.socket.unshift(rest)
        return
      }
      const piece = this.#takePiece(rest)
      this.#parse(piece)
      rest = rest.subarray(piece.length)
    }
  }

  /** The bytes that certainly belong to one request: up to the end of its head or body. */
  #takePiece(bytes: Buffer): Buffer {
    if (this.#bodyBytesLeft > 0) {
      const body = bytes.subarray(0, this.#bodyBytesLeft)
      this.#bodyBytesLeft -= body.length
      return body
    }
    const end = endOfBlankLine(this.#tail, bytes)
    this.#tail = end ? '' : (this.#tail + bytes.toString('latin1', Math.max(0, bytes.length - 3))).slice(-3)
    return end ? bytes.subarray(0, end) : bytes
  }
}

/** Where the first blank line ends, in bytes; 0 without one. @param tail the bytes before, where it may have begun */
function endOfBlankLine(tail: string, bytes: Buffer): number {
  const begun = tail ? (tail + bytes.toString('latin1', 0, 3)).indexOf(BLANK_LINE) : -1
  if (begun >= 0) return begun - tail.length + BLANK_LINE.length
  const start = bytes.indexOf(BLANK_LINE, 0, 'latin1')
  return start < 0 ? 0 : start + BLANK_LINE.length
}

/** Puts a listener between a socket and the parser that http has attached. @returns passes bytes to the parser */
function interceptData(socket: Socket, onData: (bytes: Buffer) => void): (bytes: Buffer) => void {
  // http has attached one listener of each event.
  const [parse] = socket.listeners('data') as [(bytes: Buffer) => void]
  const [stopReading] = socket.listeners('pause') as [() => void]
  const [startReading] = socket.listeners('resume') as [() => void]
  socket.off('data', parse)
  socket.on('data', onData) // this makes http remove its pause and resume listeners
  // The socket is read only while it flows. A paused stream would read ahead up to its high-water mark, and a
  // client that sends single bytes makes that 7 MB.
  socket.on('pause', stopReading)
  socket.on('resume', startReading)
  socket._read = () => {}
  return parse
}
