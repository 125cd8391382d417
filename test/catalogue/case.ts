import { expect } from 'vitest'
import { type RawResponse, parseResponse, sendRaw } from '../support/raw-http.ts'

/** A row of the catalogue: a request that is rejected, and the expected response. */
export interface Case {
  title: string
  /** The bytes on the wire. */
  bytes(key: string): Buffer
  status: number
  code: string
  /** Expected headers, in addition to the Content-Type. */
  headers?: Record<string, unknown>
  /** Expected pattern of the message. */
  message?: RegExp
}

interface Request {
  method?: string
  path?: string
  /** Written to the wire unchanged, except that `KEY` in a value is replaced with the API key. */
  headers?: [name: string, value: string][]
  /** Send no Authorization header, except one in `headers`. */
  anonymous?: boolean
  body?: string | Buffer
  /** Send the body with Transfer-Encoding: chunked. */
  chunked?: boolean
  host?: string
}

/** A case with a well-formed HTTP request. Cases of malformed HTTP define `bytes` themselves. */
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

/** POST /v1/pets with a body of type application/json. */
export const postPet = (title: string, body: string | Buffer, expected: Omit<Case, 'title' | 'bytes'>): Case =>
  requestCase(title, { method: 'POST', headers: [json], body }, expected)

/** POST /graphql with a body of type application/json. */
export const postGraphQL = (
  title: string,
  body: string | Buffer | object,
  expected: Omit<Case, 'title' | 'bytes'>,
): Case => {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return requestCase(title, { method: 'POST', path: '/graphql', headers: [json], body: text }, expected)
}

/** Sends the request of a case and expects its status, headers, code and message. */
export async function expectCase(
  { bytes, status, code, headers = {}, message = /\S/ }: Case,
  port: number,
  key: string,
) {
  const response = parseResponse(await sendRaw(port, bytes(key)))
  const { text, ...parsed } = response
  expect(parsed).toMatchObject({ status, headers: { 'content-type': expect.stringContaining('json'), ...headers } })
  expect(errorOf(response)).toEqual({ code, message: expect.stringMatching(message), status })
  expectNoInternals(text, key)
  expect(text.length, 'length of the response').toBeLessThan(3_000)
  return response
}

/**
 * @returns the only error of a response, in the form of the REST API for both APIs, so without GraphQL's `fields`
 * @throws Error if a GraphQL response contains anything besides its errors
 */
export function errorOf({ body }: RawResponse): unknown {
  if (typeof body !== 'object' || body === null || !('errors' in body)) return body
  const { errors, ...otherMembers } = body as { errors: { message: string; extensions: { fields?: unknown } }[] } // GraphQL's shape
  const [first] = errors
  if (!first) throw new Error('No error in the response')
  if (Object.keys(otherMembers).length) throw new Error(`Members besides errors: ${Object.keys(otherMembers).join()}`)
  const { fields: _fields, ...extensions } = first.extensions
  return { ...extensions, message: first.message }
}

/** Text that reveals the implementation of the service. */
const internals = [
  /\bat .*\(.*:\d+:\d+\)/, // a line of a stack trace
  /node_modules|file:\/\/|\.[jt]s:\d|\/(src|dist|tmp|root|home)\//,
  /prisma|express|yoga|pothos|\bzod\b|graphql-js|node-postgres|\bpg\b|postgres|sqlstate/i,
  /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|pg_catalog)\b|relation "|animal_|api_key|idempotency_key/,
]

/** Expects that a text reveals neither the implementation of the service nor any part of an API key. */
export function expectNoInternals(text: string, key: string): void {
  for (const pattern of internals) expect(text).not.toMatch(pattern)
  expect(text).not.toContain(key.slice(5, 13)) // the public prefix of the key
}
