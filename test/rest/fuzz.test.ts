import fc from 'fast-check'
import { expect } from 'vitest'
import { toJson } from '../../src/http/json.ts'
import { testWithService as test } from '../support/harness.ts'
import { document, validatorOf } from './document.ts'

/** Number of requests; `npm run fuzz` sends 10,000. A failure prints the seed; FUZZ_SEED repeats the run. */
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

/** A part of a request, and whether the document allows it. `maybe`: valid syntax, but possibly an unknown cursor. */
interface Part<T> {
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

/** Generates values that a schema of the document allows. */
function validValue(schemaOrRef: Schema): fc.Arbitrary<unknown> {
  const schema = resolve(schemaOrRef)
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
  const members = Object.entries(schema.properties).map(([name, member]) => [name, validValue(member)] as const)
  return fc.record(Object.fromEntries(members), { requiredKeys: schema.required ?? [] })
}

/** Generates JSON values that a schema of the document does not allow. */
function invalidValue(schema: Schema): fc.Arbitrary<unknown> {
  const numbers = [1, 1.5, -1, 0, 2 ** 60, 2n ** 63n, -(2n ** 63n) - 1n]
  const edges = fc.constantFrom(null, true, '', '1', ' ', 'a\0', 'x'.repeat(256), ...numbers)
  return fc.oneof(edges, fc.jsonValue(), anyText).filter((value) => !allows(schema, value))
}

function allows(schemaOrRef: Schema, value: unknown): boolean {
  const schema = resolve(schemaOrRef)
  if (schema.enum) return schema.enum.includes(value as string)
  if (schema.type === 'integer') {
    // An integer is judged by its text on the wire.
    if (!['bigint', 'number'].includes(typeof value) || !/^-?\d+$/.test(String(value))) return false
    const n = BigInt(String(value))
    if (schema.format === 'int64') return n >= -(2n ** 63n) && n < 2n ** 63n
    return n >= (schema.minimum ?? -Infinity) && n <= (schema.maximum ?? Infinity)
  }
  if (schema.type === 'string') {
    const length = typeof value === 'string' ? [...value].length : -1
    const lengthFits = length >= (schema.minLength ?? 0) && length <= (schema.maxLength ?? Infinity)
    return lengthFits && new RegExp(schema.pattern ?? '', 'u').test(value as string) && (value as string).isWellFormed()
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Generates the text of a parameter, or undefined. On the wire, integers are digits. */
function parameter({ name, in: location, schema }: Parameter): fc.Arbitrary<Part<string | undefined>> {
  const validTexts = validValue(schema)
    .map(String)
    .filter((text) => location !== 'header' || isHeader(text))
  const isValid = (text: string) =>
    resolve(schema).type === 'integer'
      ? /^(0|-?[1-9]\d*)$/.test(text) && allows(schema, BigInt(text))
      : allows(schema, text)
  const invalidTexts = anyText.filter(
    (text) => text.isWellFormed() && !isValid(location === 'header' ? text.trim() : text),
  )
  const isCursor = name === 'cursor'
  const parts: fc.Arbitrary<Part<string | undefined>>[] = [
    validTexts.map((value) => ({ value, valid: isCursor ? 'maybe' : true })),
    invalidTexts
      .filter((text) => location !== 'header' || isHeader(text))
      .map((value) => ({ value, valid: name === 'If-None-Match' })),
  ]
  if (location !== 'path')
    parts.push(fc.constant({ value: undefined, valid: true }), fc.constant({ value: undefined, valid: true }))
  return fc.oneof(...parts)
}

const isHeader = (text: string) => /^[\x20-\x7e\x80-\xff]*$/.test(text)

/** Generates bodies: valid with unknown members, with one invalid or missing member, or not an object. */
function body(schemaOrRef: Schema): fc.Arbitrary<Part<string>> {
  const schema = resolve(schemaOrRef)
  const validPets = validValue(schemaOrRef) as fc.Arbitrary<Record<string, unknown>>
  const unknownMembers = fc.dictionary(
    fc.string().filter((name) => !(name in (schema.properties ?? {}))),
    fc.jsonValue(),
    { maxKeys: 2 },
  )
  const invalidMember = fc
    .constantFrom(...Object.entries(schema.properties ?? {}))
    .chain(([name, member]) =>
      fc.tuple(validPets, invalidValue(member)).map(([pet, value]) => ({ ...pet, [name]: value })),
    )
  const missingMember = fc
    .constantFrom(...(schema.required ?? []))
    .chain((name) => validPets.map((pet) => ({ ...pet, [name]: undefined })))
  const text = (value: unknown) =>
    value !== null && typeof value === 'object' && !Array.isArray(value) ? members(value) : toJson(value)
  const notAnObject = fc.oneof(
    fc
      .jsonValue()
      .filter((value) => !allows(schemaOrRef, value))
      .map(text),
    fc.string(),
  )
  const valid = fc.tuple(validPets, unknownMembers).map(([pet, more]) => text({ ...more, ...pet }))
  return fc.oneof(
    valid.map((value) => ({ value, valid: true })),
    fc.oneof(invalidMember.map(text), missingMember.map(text), notAnObject).map((value) => ({ value, valid: false })),
  )
}

/** @returns an object as JSON text, without its undefined members */
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
      ...operation.parameters.map((p) => parameter(p).map((part) => ({ ...part, name: p.name, location: p.in }))),
    ),
    body: operation.requestBody
      ? body(operation.requestBody.content['application/json'].schema)
      : fc.constant(undefined),
  }),
)

test(
  `${requests} generated requests: no 5xx, no undocumented response, no accepted invalid request (seed ${seed})`,
  { timeout: 600_000 },
  async ({ service }) => {
    const sent = { valid: 0, invalid: 0 }
    await fc.assert(
      fc.asyncProperty(request, async ({ path, method, parameters, body: payload }) => {
        const inLocation = (wanted: string) =>
          parameters.flatMap(({ location, name, value }): [string, string][] =>
            location === wanted && value !== undefined ? [[name, value]] : [],
          )
        const [[, segment] = ['', undefined]] = inLocation('path')
        fc.pre(!/^\.{0,2}$/.test(segment ?? 'x')) // URL parsers remove "." and ".."
        const resolvedPath = path.replace(/\{.*\}/, encodeURIComponent(segment ?? ''))
        const query = new URLSearchParams(inLocation('query')).toString()
        const headers = {
          ...Object.fromEntries(inLocation('header')),
          ...(payload && { 'Content-Type': 'application/json' }),
        }
        // `send` compares the response with the document.
        const init = { method, headers, ...(payload && { body: payload.value }) }
        const response = await service.send(`/v1${resolvedPath}${query && `?${query}`}`, init)

        const parts = [...parameters, ...(payload ? [payload] : [])]
        expect(response.status).toBeLessThan(500)
        if (parts.some(({ valid }) => valid === false)) {
          sent.invalid++
          expect(response.status).toBeGreaterThanOrEqual(400)
        } else if (parts.every(({ valid }) => valid === true)) {
          sent.valid++
          expect([200, 201, 304, 404, 422]).toContain(response.status)
        }
      }),
      { numRuns: requests, seed },
    )
    expect(Math.min(sent.valid, sent.invalid)).toBeGreaterThan(requests / 10)
    expect(validatorOf('Pets')(JSON.parse(await (await service.send('/v1/pets?limit=100')).text()))).toBe(true)
  },
)
