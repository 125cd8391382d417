import { expect } from 'vitest'
import { deviations } from '../rest/document.ts'
import { type RawResponse, parseResponse, sendRaw } from '../support/raw-http.ts'

/** A row of the catalogue: a request that is rejected, and the expected response. */
export interface Case {
  title: string
  /** The bytes on the wire. */
  bytes(key: string): Buffer
  /** The status of the error, in its body. */
  status: number
  /** The status of the response, if it is another one: GraphQL over HTTP has its own. */
  httpStatus?: number
  code: string
  /** Expected headers, in addition to the Content-Type. */
  headers?: Record<string, unknown>
  /** Expected pattern of the message. */
  message?: RegExp
  /** Whether the error may be that of a field of a GraphQL operation. Then the response has data, and is 200. */
  ofField?: boolean
}

export type Expected = Omit<Case, 'title' | 'bytes'>

export interface Request {
  method?: string
  path?: string
  /** Written to the wire unchanged, except that `KEY` in a value is replaced with the API key. */
  headers?: [name: string, value: string][]
  /** Send no Authorization header, except one in `headers`. */
  anonymous?: boolean
  body?: string | Buffer | undefined
  /** Send the body with Transfer-Encoding: chunked. */
  chunked?: boolean
}

/** A case with a well-formed HTTP request. Cases of malformed HTTP define `bytes` themselves. */
export function requestCase(
  title: string,
  { method = 'GET', path = '/v1/pets', headers = [], anonymous = false, body, chunked = false }: Request,
  expected: Expected,
): Case {
  const payload = body === undefined ? undefined : Buffer.from(body)
  function bytes(key: string): Buffer {
    const lines = [
      ['Host', 'x'],
      ...(anonymous ? [] : [['Authorization', `Bearer ${key}`]]),
      ...headers.map(([name, value]) => [name, value.replaceAll('KEY', key)]),
      ...(payload && chunked ? [['Transfer-Encoding', 'chunked']] : []),
      ...(payload && !chunked ? [['Content-Length', String(payload.length)]] : []),
      ['Connection', 'close'],
    ].map(([name, value]) => `${name}: ${value}\r\n`)
    const head = Buffer.from(`${method} ${path.replaceAll('KEY', key)} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
    if (!payload) return head
    if (!chunked) return Buffer.concat([head, payload])
    const size = Buffer.from(`${payload.length.toString(16)}\r\n`)
    return Buffer.concat([head, size, payload, Buffer.from('\r\n0\r\n\r\n')])
  }
  return { title: title.slice(0, 100), bytes, ...expected }
}

export const json: [string, string] = ['Content-Type', 'application/json']

/** POST /v1/pets with a body of type application/json. */
export const postPet = (title: string, body: string | Buffer, expected: Expected): Case =>
  requestCase(title, { method: 'POST', headers: [json], body }, expected)

/** POST /graphql with a body of type application/json. */
export const postGraphQL = (title: string, body: string | Buffer | object, expected: Expected): Case => {
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return requestCase(`GraphQL: ${title}`, { method: 'POST', path: '/graphql', headers: [json], body: text }, expected)
}

/** Sends the request of a case and expects its status, headers, code and message, and what the OpenAPI document says. */
export async function expectCase(row: Case, port: number, key: string): Promise<void> {
  const { bytes, code, headers = {}, message = /\S/ } = row
  const request = bytes(key)
  const response = parseResponse(await sendRaw(port, request))
  const { text, ...parsed } = response
  expect(parsed).toMatchObject({
    status: statusOf(row, response),
    headers: { 'content-type': expect.stringContaining('json'), ...headers },
  })
  expect(errorOf(row, response)).toEqual({ code, message: expect.stringMatching(message), status: row.status })
  const [method = '', path = ''] = request.toString('latin1').split(' ', 2)
  const init = { status: parsed.status, headers: parsed.headers }
  expect(deviations(method, path, new Response(null, init), text.slice(text.indexOf('\r\n\r\n') + 4))).toEqual([])
  expectNoInternals(text)
  if (path.startsWith('/v1')) expect(text).not.toMatch(LIBRARY_SENTENCE)
  expect(text).not.toContain(key.slice(5, 13)) // the public prefix of the key
  expect(text.length, 'length of the response').toBeLessThan(3_000)
}

/** The status that a response must have: 200 if it has data beside the error. */
export function statusOf({ status, httpStatus = status, ofField }: Case, { body }: RawResponse): number {
  return ofField && typeof body === 'object' && body !== null && 'data' in body ? 200 : httpStatus
}

/**
 * @returns the error of a response in the form of the REST API, so without the `fields` of INVALID_ARGUMENT, but with
 *   what a GraphQL response has besides its errors, except the data of an error of a field
 */
export function errorOf({ ofField = false }: Case, { body }: RawResponse): unknown {
  if (typeof body !== 'object' || body === null || !('errors' in body)) return body
  const { errors, ...others } = body as { errors: { message: string; extensions: Record<string, unknown> }[] } // GraphQL's shape
  const { extensions = {}, message } = errors[0] ?? {}
  const allowed = {
    ...(ofField && { data: undefined }),
    ...(extensions.code === 'INVALID_ARGUMENT' && { fields: undefined }),
  }
  return { ...others, ...extensions, ...allowed, message }
}

/** How messages of zod and of JSON.parse begin. */
const LIBRARY_SENTENCE = /Invalid |Unrecognized|Too (small|big)|[Ee]xpected|received|Unexpected|Required|JSON at/

/** Text that reveals the implementation of the service. */
const internals = [
  /\bat .*\(.*:\d+:\d+\)/, // a line of a stack trace
  /node_modules|file:\/\/|\.[jt]s:\d|\/(src|dist|tmp|root|home)\//,
  /prisma|express|yoga|pothos|\bzod\b|graphql-js|node-postgres|\bpg\b|postgres|sqlstate/i,
  /\b(SELECT|INSERT INTO|UPDATE|DELETE FROM|pg_catalog)\b|relation "|animal_|api_key|idempotency_key/,
]

/** Expects that a text does not reveal the implementation of the service. */
export function expectNoInternals(text: string): void {
  for (const pattern of internals) expect(text).not.toMatch(pattern)
}
