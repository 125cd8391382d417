import { connect } from 'node:net'

export interface RawResponse {
  status: number
  /** Names in lower case; the last of several with one name. */
  headers: Record<string, string>
  /** As JSON when it is that, else the text; undefined when there is none. */
  body: unknown
  /** All that came, byte for byte as latin1. */
  text: string
}

interface SendRawOptions {
  /** Close our own half of the connection behind the bytes. */
  end?: boolean
  /** Hang up as soon as this is in what came. */
  enough?: RegExp
}

/** Sends bytes as they are and gives back all that comes until the other side closes, or until it is enough. */
export function sendRaw(
  port: number,
  bytes: string | Buffer,
  { end = false, enough }: SendRawOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = ''
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }, () => {
      socket.write(bytes)
      if (end) socket.end()
    })
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      if (enough?.test(received)) socket.destroy()
    })
    socket.on('end', () => socket.end())
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
  })
}

/** The one answer in what came. */
export function parseResponse(text: string): RawResponse {
  const cut = text.indexOf('\r\n\r\n')
  const [first = '', ...lines] = text.slice(0, cut).split('\r\n')
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  )
  const rest = text.slice(cut + 4)
  const raw = /chunked/i.test(headers['transfer-encoding'] ?? '') ? unchunk(rest) : rest
  const content = Buffer.from(raw, 'latin1').toString('utf8')
  return { status: Number(first.split(' ')[1]), headers, body: toBody(content, headers['content-type']), text }
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
