import fc from 'fast-check'
import { expect } from 'vitest'
import { toJson } from '../../src/http/json.ts'
import { testWithService as test } from '../support/harness.ts'
import { document, validatorOf } from './document.ts'

/** How many requests; `npm run fuzz` sends 10,000. A failure prints the seed: FUZZ_SEED repeats it. */
const requests = Number(process.env['FUZZ_RUNS'] ?? 500)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)

interface Schema {
  $ref?: string
  type?: string
  enum?: string[]
  format?: string
  pattern?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  required?: string[]
  properties?: Record<string, Schema>
}
interface Parameter {
  name: string
  in: 'query' | 'header' | 'path'
  schema: Schema
}
interface Operation {
  operationId: string
  parameters: Parameter[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
}

/** A piece of a request, and whether the document allows it. `maybe`: allowed in form, refused for what it names. */
interface Piece<T> {
  value: T
  valid: boolean | 'maybe'
}

const components = (document['components'] as { schemas: Record<string, Schema> }).schemas
const resolve = (schema: Schema): Schema =>
  schema.$ref ? resolve(components[schema.$ref.split('/').at(-1) ?? ''] ?? {}) : schema

const int64 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -9n, max: 200n }))
const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.constantFrom('null', 'true', '0', '-1', '+5', '1e1', '0x10', '٣'),
)

/** A value that a schema of the document allows. */
function allowed(given: Schema): fc.Arbitrary<unknown> {
  const schema = resolve(given)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.format === 'int64') return int64
  if (schema.type === 'integer') return fc.integer({ min: schema.minimum ?? 0, max: schema.maximum ?? 2 ** 31 - 1 })
  if (schema.type === 'string') {
    const length = { minLength: schema.minLength ?? 0, maxLength: schema.maxLength ?? 1_000 }
    const text = fc.oneof(
      fc.string(length),
      fc.string({ unit: 'grapheme', ...length }),
      fc.string({ unit: 'binary', ...length }),
    )
    return text.filter((value) => allows(schema, value))
  }
  if (schema.type !== 'object' || !schema.properties) throw new Error(`no generator for ${JSON.stringify(schema)}`)
  const members = Object.entries(schema.properties).map(([name, member]) => [name, allowed(member)] as const)
  return fc.record(Object.fromEntries(members), { requiredKeys: schema.required ?? [] })
}

/** A JSON value that a schema of the document does not allow. */
function forbidden(schema: Schema): fc.Arbitrary<unknown> {
  const edges = fc.constantFrom(
    null,
    '',
    '1',
    1,
    1.5,
    -1,
    0,
    2 ** 60,
    2n ** 63n,
    -(2n ** 63n) - 1n,
    true,
    'a\0',
    ' ',
    'x'.repeat(256),
  )
  return fc.oneof(edges, fc.jsonValue(), anyText).filter((value) => !allows(schema, value))
}

function allows(given: Schema, value: unknown): boolean {
  const schema = resolve(given)
  if (schema.enum) return schema.enum.includes(value as string)
  if (schema.type === 'integer') {
    // What counts is how it is written on the wire.
    if (!['bigint', 'number'].includes(typeof value) || !/^-?\d+$/.test(String(value))) return false
    const n = BigInt(String(value))
    if (schema.format === 'int64') return n >= -(2n ** 63n) && n < 2n ** 63n
    return n >= (schema.minimum ?? -Infinity) && n <= (schema.maximum ?? Infinity)
  }
  if (schema.type === 'string') {
    const length = typeof value === 'string' ? [...value].length : -1
    const fits = length >= (schema.minLength ?? 0) && length <= (schema.maxLength ?? Infinity)
    return fits && new RegExp(schema.pattern ?? '', 'u').test(value as string) && (value as string).isWellFormed()
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A parameter's text, or none. Strings that are digits are what an integer parameter looks like on the wire. */
function parameter({ name, in: place, schema }: Parameter): fc.Arbitrary<Piece<string | undefined>> {
  const good = allowed(schema)
    .map(String)
    .filter((text) => place !== 'header' || isHeader(text))
  const isGood = (text: string) =>
    resolve(schema).type === 'integer'
      ? /^(0|-?[1-9]\d*)$/.test(text) && allows(schema, BigInt(text))
      : allows(schema, text)
  const bad = anyText.filter((text) => text.isWellFormed() && !isGood(place === 'header' ? text.trim() : text))
  const cursor = name === 'cursor'
  const pieces: fc.Arbitrary<Piece<string | undefined>>[] = [
    good.map((value) => ({ value, valid: cursor ? 'maybe' : true })),
    bad
      .filter((text) => place !== 'header' || isHeader(text))
      .map((value) => ({ value, valid: name === 'If-None-Match' })),
  ]
  if (place !== 'path')
    pieces.push(fc.constant({ value: undefined, valid: true }), fc.constant({ value: undefined, valid: true }))
  return fc.oneof(...pieces)
}

const isHeader = (text: string) => /^[\x20-\x7e\x80-\xff]*$/.test(text)

/** A body: allowed, wrong in one member, or no object at all; unknown members come along. */
function body(given: Schema): fc.Arbitrary<Piece<string>> {
  const schema = resolve(given)
  const good = allowed(given) as fc.Arbitrary<Record<string, unknown>>
  const unknown = fc.dictionary(
    fc.string().filter((name) => !(name in (schema.properties ?? {}))),
    fc.jsonValue(),
    { maxKeys: 2 },
  )
  const wrongMember = fc
    .constantFrom(...Object.entries(schema.properties ?? {}))
    .chain(([name, member]) => fc.tuple(good, forbidden(member)).map(([pet, value]) => ({ ...pet, [name]: value })))
  const missingMember = fc
    .constantFrom(...(schema.required ?? []))
    .chain((name) => good.map((pet) => ({ ...pet, [name]: undefined })))
  const text = (value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value) ? members(value) : toJson(value)
  return fc.oneof(
    fc.tuple(good, unknown).map(([pet, more]) => ({ value: text({ ...more, ...pet }), valid: true as const })),
    wrongMember.map((pet) => ({ value: text(pet), valid: false as const })),
    missingMember.map((pet) => ({ value: text(pet), valid: false as const })),
    fc
      .oneof(
        fc
          .jsonValue()
          .filter((value) => !allows(given, value))
          .map(text),
        fc.string(),
      )
      .map((value) => ({ value, valid: false as const })),
  )
}

/** An object as JSON text, null members and all; undefined ones are left out. */
function members(value: object): string {
  const entries = Object.entries(value).filter(([, member]) => member !== undefined)
  const write = (member: unknown) => (typeof member === 'bigint' ? String(member) : JSON.stringify(member))
  return `{${entries.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(',')}}`
}

const operations = Object.entries(document['paths'] as Record<string, Record<string, Operation>>).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

const request = fc.constantFrom(...operations).chain(({ path, method, operation }) =>
  fc.record({
    path: fc.constant(path),
    method: fc.constant(method),
    parameters: fc.tuple(
      ...operation.parameters.map((p) => parameter(p).map((piece) => ({ ...piece, name: p.name, place: p.in }))),
    ),
    body: operation.requestBody
      ? body(operation.requestBody.content['application/json'].schema)
      : fc.constant(undefined),
  }),
)

test(
  `${requests} generated requests: no 5xx, nothing undocumented, nothing invalid accepted (seed ${seed})`,
  { timeout: 600_000 },
  async ({ service }) => {
    const accepted = { valid: 0, invalid: 0 }
    await fc.assert(
      fc.asyncProperty(request, async ({ path, method, parameters, body: payload }) => {
        const of = (wanted: string) => parameters.filter(({ place, value }) => place === wanted && value !== undefined)
        const pairs = (wanted: string) => of(wanted).map(({ name, value = '' }): [string, string] => [name, value])
        const [segment] = of('path')
        const dots = /^\.{0,2}$/.test(segment?.value ?? 'x') // what a URL parser takes for a folder
        fc.pre(!dots)
        const address = path.replace(/\{.*\}/, encodeURIComponent(segment?.value ?? ''))
        const query = new URLSearchParams(pairs('query')).toString()
        const headers = {
          ...Object.fromEntries(pairs('header')),
          ...(payload && { 'Content-Type': 'application/json' }),
        }
        // `send` holds the answer against the document.
        const init = { method, headers, ...(payload && { body: payload.value }) }
        const response = await service.send(`/v1${address}${query && `?${query}`}`, init)

        const pieces = [...parameters, ...(payload ? [payload] : [])]
        expect(response.status).toBeLessThan(500)
        if (pieces.some(({ valid }) => valid === false)) {
          accepted.invalid++
          expect(response.status).toBeGreaterThanOrEqual(400)
        } else if (pieces.every(({ valid }) => valid === true)) {
          accepted.valid++
          expect([200, 201, 304, 404, 422]).toContain(response.status)
        }
      }),
      { numRuns: requests, seed },
    )
    expect(Math.min(accepted.valid, accepted.invalid)).toBeGreaterThan(requests / 10)
    expect(validatorOf('Pets')(JSON.parse(await (await service.send('/v1/pets?limit=100')).text()))).toBe(true)
  },
)
