import { expect } from 'vitest'
import { type RawResponse, parseResponse, sendRaw } from '../support/raw-http.ts'

/** A request as a row of the catalogue has it, and what it gets. */
export interface Case {
  title: string
  /** The bytes on the wire. */
  bytes(key: string): Buffer
  status: number
  code: string
  /** What the headers of the answer must hold besides. */
  headers?: Record<string, unknown>
  /** What the message must say. */
  message?: RegExp
}

interface Request {
  method?: string
  path?: string
  /** As they are written on the wire. `KEY` in a value stands for the key; there is one unless `anonymous`. */
  headers?: [name: string, value: string][]
  anonymous?: boolean
  body?: string | Buffer
  /** Announce no length and send chunks. */
  chunked?: boolean
  host?: string
}

/** A case of a request that is HTTP; where it is not, the case brings its bytes itself. */
export function requestCase(
  title: string,
  { method = 'GET', path = '/v1/pets', headers = [], anonymous = false, body, chunked = false, host = 'x' }: Request,
  expected: Omit<Case, 'title' | 'bytes'>,
): Case {
  const payload = body === undefined ? undefined : Buffer.from(body)
  function bytes(key: string): Buffer {
    const lines = [
      ['Host', host],
      ...(anonymous ? [] : [['Authorization', `Bearer ${key}`]]),
      ...headers.map(([name, value]) => [name, value.replaceAll('KEY', key)]),
      ...(payload && chunked ? [['Transfer-Encoding', 'chunked']] : []),
      ...(payload && !chunked ? [['Content-Length', String(payload.length)]] : []),
      ['Connection', 'close'],
    ].map(([name, value]) => `${name}: ${value}\r\n`)
    const head = Buffer.from(`${method} ${path.replaceAll('KEY', key)} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
    if (!payload) return head
    if (!chunked) return Buffer.concat([head, payload])
    return Buffer.concat([
      head,
      Buffer.from(`${payload.length.toString(16)}\r\n`),
      payload,
      Buffer.from('\r\n0\r\n\r\n'),
    ])
  }
  return { title, bytes, ...expected }
}

export const json: [string, string] = ['Content-Type', 'application/json']

/** POST /v1/pets with a body as JSON. */
export const post = (title: string, body: string | Buffer, expected: Omit<Case, 'title' | 'bytes'>): Case =>
  requestCase(title, { method: 'POST', headers: [json], body }, expected)

/** POST /graphql with a body as JSON. */
export const ask = (title: string, body: string | Buffer | object, expected: Omit<Case, 'title' | 'bytes'>): Case => {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return requestCase(title, { method: 'POST', path: '/graphql', headers: [json], body: text }, expected)
}

/** Sends a case and holds its answer against the row: status, code and message on the face that it went to. */
export async function expectCase(
  { bytes, status, code, headers = {}, message = /\S/ }: Case,
  port: number,
  key: string,
) {
  const sent = bytes(key)
  const answer = parseResponse(await sendRaw(port, sent))
  const { text, ...told } = answer
  expect(told).toMatchObject({ status, headers: { 'content-type': expect.stringContaining('json'), ...headers } })
  expect(errorOf(answer)).toEqual({ code, message: expect.stringMatching(message), status })
  expectDiscreet(text, key)
  expect(text.length, 'a short answer').toBeLessThan(3_000)
  return answer
}

/** The one error of an answer, in the shape of REST whichever face gave it. Anything else beside it is a failure. */
export function errorOf({ body }: RawResponse): unknown {
  if (typeof body !== 'object' || body === null || !('errors' in body)) return body
  const { errors, ...beside } = body as { errors: { message: string; extensions: object }[] } // GraphQL's shape
  const [first] = errors
  if (!first) throw new Error('No error in the answer')
  if (Object.keys(beside).length) throw new Error(`Beside the errors: ${Object.keys(beside).join()}`)
  return { ...first.extensions, message: first.message }
}

/** Words that would tell what the service is made of, and anything of a key. */
const indiscreet = [
  /\bat .*\(.*:\d+:\d+\)/, // a stack
  /node_modules|file:\/\/|\.[jt]s:\d|\/(src|dist|tmp|root|home)\//,
  /prisma|express|yoga|pothos|\bzod\b|graphql-js|node-postgres|\bpg\b|postgres|sqlstate/i,
  /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|pg_catalog)\b|relation "|animal_|api_key|idempotency_key/,
]

export function expectDiscreet(text: string, key: string): void {
  for (const words of indiscreet) expect(text).not.toMatch(words)
  expect(text).not.toContain(key.slice(5, 13)) // not even what people may see of it
}
