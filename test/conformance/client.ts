import { deepStrictEqual, ok, strictEqual } from 'node:assert/strict'

/** An answer, read whole. */
export interface Answer {
  /** URL of the request. */
  url: string
  status: number
  headers: Headers
  text: string
}

export interface Ask {
  method?: string
  headers?: Record<string, string>
  body?: string | Uint8Array
  /** Sent as `Authorization` in place of the key; null sends none. */
  authorization?: string | null
}

/** Asks one environment, knowing nothing of how it is built. */
export interface Client {
  ask(path: string, ask?: Ask): Promise<Answer>
  /** POST /pets with JSON text. */
  create(json: string, headers?: Record<string, string>): Promise<Answer>
}

/**
 * @param baseUrl the environment's base address, which ends in `/v1` (specification §9)
 * @param timeoutMs how long an answer may take
 */
export function createClient(baseUrl: string, key: string, timeoutMs = 10_000): Client {
  async function ask(path: string, { method = 'GET', headers = {}, body, authorization }: Ask = {}): Promise<Answer> {
    const auth = authorization === undefined ? `Bearer ${key}` : authorization
    const response = await fetch(baseUrl.replace(/\/$/, '') + path, {
      method,
      headers: { ...headers, ...(auth !== null && { Authorization: auth }) },
      body: (body ?? null) as NonNullable<RequestInit['body']>, // text or bytes; Node's type asks for an ArrayBuffer below them
      signal: AbortSignal.timeout(timeoutMs),
      redirect: 'manual',
    })
    const { url, status, headers: received } = response
    return { url, status, headers: received, text: await response.text() }
  }
  const create = (json: string, headers = {}) =>
    ask('/pets', { method: 'POST', body: json, headers: { 'Content-Type': 'application/json', ...headers } })
  return { ask, create }
}

/** An animal with its integers as digits, since JSON.parse would round them. */
export interface ReadAnimal {
  id: string
  name: string
  categoryId: string
  status?: string
}

/** The body as JSON, with the int64 members as strings of digits. */
export function readJson(answer: Answer): unknown {
  expectHeader(answer, 'content-type', /^application\/json/)
  return JSON.parse(answer.text.replace(/"(id|categoryId)"(\s*:\s*)(-?\d+)/g, '"$1"$2"$3"'))
}

/** §2, Animal: the three members that it must have and the one that it may, of their types. */
export function expectAnimal(value: unknown): ReadAnimal {
  ok(typeof value === 'object' && value !== null, 'an Animal is an object')
  const animal = value as ReadAnimal // checked member by member here
  ok(/^-?\d+$/.test(animal.id), `id is an integer, not ${JSON.stringify(animal.id)}`)
  ok(/^-?\d+$/.test(animal.categoryId), `categoryId is an integer, not ${JSON.stringify(animal.categoryId)}`)
  strictEqual(typeof animal.name, 'string', 'name is a string')
  if ('status' in animal) ok(['available', 'pending', 'sold'].includes(animal.status ?? ''), 'status is a PetStatus')
  return animal
}

/** §7: the status, and the Error body, whose own status says the same. */
export function expectError(answer: Answer, status: number): void {
  strictEqual(answer.status, status, `HTTP status of ${answer.text.slice(0, 200)}`)
  const body = readJson(answer) as Record<string, unknown>
  deepStrictEqual(Object.keys(body).sort(), ['code', 'message', 'status'], 'members of the Error body')
  ok(typeof body.code === 'string' && body.code, 'code is a string')
  ok(typeof body.message === 'string' && body.message, 'message is a string')
  strictEqual(body.status, status, 'status in the Error body')
}

export function expectStatus(answer: Answer, status: number): void {
  strictEqual(answer.status, status, `HTTP status, with the body ${answer.text.slice(0, 200)}`)
}

export function expectHeader(answer: Answer, name: string, pattern: RegExp): string {
  const value = answer.headers.get(name) ?? ''
  ok(pattern.test(value), `header ${name} is ${JSON.stringify(value)}`)
  return value
}
