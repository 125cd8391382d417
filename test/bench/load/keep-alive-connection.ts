import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** One connection, asked one thing at a time; it connects anew when it has been closed. */
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

  /** @returns the status of the answer; rejects when the connection breaks */
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

/** The status of an answer. GraphQL may say 200 and then tell in the body that it could not. */
function statusOf(answer: string): number {
  const told = answer.includes('"errors":') && /"status":(\d{3})/.exec(answer)?.[1]
  return Number(told || answer.slice(9, 12))
}
