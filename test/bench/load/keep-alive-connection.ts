import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** A connection with one request at a time. It reconnects after it has been closed. */
export class KeepAliveConnection {
  readonly #port: number
  #socket: Socket | undefined
  #received = ''
  #settle: { resolve(status: number): void; reject(error: Error): void } | undefined

  constructor(port: number) {
    this.#port = port
  }

  /** Connects; an attempt that fails shows when the line is used. */
  async open(): Promise<void> {
    this.#socket ??= this.#connect()
    await once(this.#socket, 'connect').catch(() => {})
  }

  /** @returns the status of the response; rejects if the connection fails */
  send(request: Buffer): Promise<number> {
    this.#socket ??= this.#connect()
    this.#received = ''
    return new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
      this.#socket?.write(request)
    })
  }

  close(): void {
    this.#socket?.destroy()
    this.#socket = undefined
  }

  #connect(): Socket {
    const socket = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    socket.setEncoding('latin1') // a character a byte, so that lengths count bytes
    socket.on('data', (text: string) => this.#receive(text))
    socket.on('error', () => {}) // 'close' follows
    socket.on('close', () => {
      if (this.#socket !== socket) return
      this.#socket = undefined
      this.#settle?.reject(new Error('the connection broke'))
    })
    return socket
  }

  #receive(text: string): void {
    this.#received += text
    const head = this.#received.indexOf('\r\n\r\n')
    if (head < 0) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(this.#received.slice(0, head + 2))?.[1]
    const complete = length ? this.#received.length >= head + 4 + Number(length) : this.#received.endsWith('0\r\n\r\n')
    if (!complete) return
    if (/\r\nconnection: *close\r\n/i.test(this.#received.slice(0, head + 2))) this.close()
    this.#settle?.resolve(statusOf(this.#received))
  }
}

/** @returns the status of a response, for GraphQL that of the first error in a 200 response */
function statusOf(response: string): number {
  const errorStatus = response.includes('"errors":') && /"status":(\d{3})/.exec(response)?.[1]
  return Number(errorStatus || response.slice(9, 12))
}
