import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'

/** A response with its complete body. */
export interface ReceivedResponse {
  /** URL of the request. */
  url: string
  status: number
  headers: Headers
  text: string
}

export interface RequestOptions {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Sent as `Authorization` in place of the key; null sends none. */
  authorization?: string | null
}

/** Sends requests to one environment, as a black box. */
export type Client = ReturnType<typeof createClient>

/** A case wanted to write in a run that is read-only. */
export class ReadOnlyError extends Error {}

/**
 * @param baseUrl the environment's base address, which ends in `/v1` (specification §9)
 * @param readOnly throws ReadOnlyError instead of sending anything but GET
 */
export function createClient(baseUrl: string, key: string, readOnly = false) {
  async function send(
    path: string,
    { method = 'GET', headers = {}, body, authorization }: RequestOptions = {},
  ): Promise<ReceivedResponse> {
    if (readOnly && method !== 'GET') throw new ReadOnlyError('it writes')
    const auth = authorization === undefined ? `Bearer ${key}` : authorization
    const response = await fetch(baseUrl + path, {
      method,
      headers: { ...headers, ...(auth !== null && { Authorization: auth }) },
      body: (body ?? null) as NonNullable<RequestInit['body']>, // text or bytes: Node's type excludes bytes in a SharedArrayBuffer
      signal: AbortSignal.timeout(10_000),
      redirect: 'manual',
    })
    const { url, status, headers: received } = response
    return { url, status, headers: received, text: await response.text() }
  }
  return { readOnly, send }
}

/** An animal with its integers as strings of digits, since JSON.parse would round them. */
export interface ReadAnimal {
  id: string
  name: string
  categoryId: string
  status?: string
}

/** Parses the body as JSON, with the int64 members as strings of digits. */
export function readJson(response: ReceivedResponse): unknown {
  expectHeader(response, 'content-type', /^application\/json/)
  return JSON.parse(response.text.replace(/"(id|categoryId)"(\s*:\s*)(-?\d+)/g, '"$1"$2"$3"'))
}

/** §2, Animal: three required members, one optional member, and their types. */
export function expectAnimal(value: unknown): ReadAnimal {
  ok(typeof value === 'object' && value !== null, 'an Animal is an object')
  const animal = value as ReadAnimal // checked member by member here
  ok(/^-?\d+$/.test(animal.id), `id is an integer, not ${JSON.stringify(animal.id)}`)
  ok(/^-?\d+$/.test(animal.categoryId), `categoryId is an integer, not ${JSON.stringify(animal.categoryId)}`)
  strictEqual(typeof animal.name, 'string', 'name is a string')
  if ('status' in animal) ok(['available', 'pending', 'sold'].includes(animal.status ?? ''), 'status is a PetStatus')
  return animal
}

/** §7: the status of the response, and the Error body with the same status. */
export function expectError(response: ReceivedResponse, status: number): void {
  strictEqual(response.status, status, `HTTP status of ${response.text.slice(0, 200)}`)
  const body = readJson(response) as Record<string, unknown>
  deepStrictEqual(Object.keys(body).sort(), ['code', 'message', 'status'], 'members of the Error body')
  ok(typeof body.code === 'string' && body.code, 'code is a string')
  ok(typeof body.message === 'string' && body.message, 'message is a string')
  strictEqual(body.status, status, 'status in the Error body')
}

export function expectStatus(response: ReceivedResponse, status: number): void {
  strictEqual(response.status, status, `HTTP status, with the body ${response.text.slice(0, 200)}`)
}

export function expectHeader(response: ReceivedResponse, name: string, pattern: RegExp): string {
  const value = response.headers.get(name) ?? ''
  ok(pattern.test(value), `header ${name} is ${JSON.stringify(value)}`)
  return value
}
