import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

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
export function sendRaw(port: number, bytes: string | Buffer, { halfClose, until }: SendRawOptions = {}) {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('end', () => socket.end())
  socket.write(bytes)
  if (halfClose) socket.end()
  return collect(socket, until)
}

/**
 * The bytes of a POST of JSON. Text is sent unchanged, other bodies as JSON.
 * @param request.lines more lines of the header. Without a body they say how long the one is that follows
 */
export function rawPost(request: { path?: string; key?: string; body?: unknown; lines?: string[] }): string {
  const { path = '/v1/pets', key, body = '', lines = [] } = request
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: x',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    'Content-Type: application/json',
    ...(text ? [`Content-Length: ${Buffer.byteLength(text)}`] : []),
    ...lines,
  ]
  return `${head.join('\r\n')}\r\n\r\n${text}`
}

/** Connects and sends bytes. The connection, whose errors are ignored, is closed after the test. */
export function openSocket(port: number, bytes: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => {})
  onTestFinished(() => void socket.destroy())
  socket.write(bytes)
  return socket
}

/** @returns the text that a socket receives until the connection is closed, which it is as soon as `until` matches */
export async function collect(socket: Socket, until?: RegExp): Promise<string> {
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
    if (until?.test(received)) socket.destroy()
  })
  await once(socket, 'close')
  return received
}

/** @returns the statuses of all responses in a text, those of 100 (Continue) too */
export const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

/** Parses one response, which has a Content-Length. */
export function parseResponse(text: string): RawResponse {
  const headEnd = text.indexOf('\r\n\r\n')
  const [statusLine = '', ...lines] = text.slice(0, headEnd).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const content = Buffer.from(text.slice(headEnd + 4), 'latin1').toString('utf8')
  return { status: Number(statusLine.split(' ')[1]), headers, body: toBody(content, headers['content-type']), text }
}

function toBody(content: string, type = ''): unknown {
  if (content === '') return undefined
  return type.includes('json') ? (JSON.parse(content) as unknown) : content
}

/** Connects, and waits until the service has responded to a first request, so the connection is accepted. */
export async function connectTo(port: number): Promise<Socket> {
  const client = connect(port, '127.0.0.1')
  client.write('HEAD /livez HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(client, 'readable')
  client.read()
  return client
}
