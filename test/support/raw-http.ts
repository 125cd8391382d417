import { connect } from 'node:net'

export interface RawResponse {
  status: number
  /** Names are in lower case. Of repeated headers the last is kept. */
  headers: Record<string, string>
  /** Parsed if it is JSON, otherwise text; undefined if empty. */
  body: unknown
  /** The received bytes, decoded as latin1. */
  text: string
}

interface SendRawOptions {
  /** Half-close the connection after the bytes. */
  halfClose?: boolean
  /** Close the connection as soon as the received text matches. */
  until?: RegExp
}

/** Sends bytes on a new connection. @returns what is received until the server closes it, or until `until` matches */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  { halfClose = false, until }: SendRawOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
      socket.write(bytes)
      if (halfClose) socket.end()
    })
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      if (until?.test(received)) socket.destroy()
    })
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
  })
}

/** Parses one response. */
export function parseResponse(text: string): RawResponse {
  const headEnd = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const payload = text.slice(headEnd + 4)
  const raw = /chunked/i.test(headers['transfer-encoding'] ?? '') ? unchunk(payload) : payload
  const content = Buffer.from(raw, 'latin1').toString('utf8')
  return { status: Number(statusLine.split(' ')[1]), headers, body: toBody(content, headers['content-type']), text }
}

function unchunk(text: string): string {
  const [size = '0'] = text.split('\r\n', 1)
  const length = Number.parseInt(size, 16)
  return length
    ? text.slice(size.length + 2, size.length + 2 + length) + unchunk(text.slice(size.length + 4 + length))
    : ''
}

function toBody(content: string, type = ''): unknown {
  if (content === '') return undefined
  return type.includes('json') ? (JSON.parse(content) as unknown) : content
}
