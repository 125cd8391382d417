import fc from 'fast-check'
import { expect } from 'vitest'
import { RESOURCES } from '../../src/resources.ts'
import { testWithService as test } from '../support/harness.ts'
import { ajv, document, type Parameter, paths, resolve, type Schema } from './document.ts'

/** Number of requests; `npm run fuzz` sends 10,000. A failure prints the seed; FUZZ_SEED repeats the run. */
const requests = Number(process.env['FUZZ_RUNS'] ?? 500)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)

/** A parameter or body, and whether the document allows it. `maybe`: valid syntax, but possibly an unknown cursor or reference. */
interface Part {
  value: string | undefined
  valid: boolean | 'maybe'
}

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
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.format?.startsWith('date')) {
    // Of random strings hardly any is a date: the filter below would search for ever.
    const times = { min: new Date('0001-01-01'), max: new Date('9998-12-31'), noInvalidDate: true }
    const length = schema.format === 'date' ? 10 : Infinity
    return fc.date(times).map((time) => time.toISOString().slice(0, length))
  }
  if (schema.type === 'string') {
    const length = { minLength: schema.minLength ?? 0, maxLength: schema.maxLength ?? 1_000 }
    const texts = (['grapheme-ascii', 'grapheme', 'binary'] as const).map((unit) => fc.string({ unit, ...length }))
    return fc.oneof(...texts).filter(validatorOf(schema))
  }
  if (schema.type !== 'object' || !schema.properties) throw new Error(`no generator for ${JSON.stringify(schema)}`)
  const members = Object.entries(schema.properties).map(([name, member]) => [name, validValue(member)] as const)
  return fc.record(Object.fromEntries(members), { requiredKeys: schema.required ?? [] })
}

function validatorOf(schema: Schema): (value: unknown) => boolean {
  const validate = ajv.compile({ ...schema, components: document['components'] })
  return (value) => validate(JSON.parse(JSON.stringify(value, (_name, one: unknown) => toDouble(one))))
}

/** What Ajv is to judge in place of a number: as on the wire, an integer is digits, and within 64 bits. */
function toDouble(value: unknown): unknown {
  if (typeof value !== 'bigint' && typeof value !== 'number') return value
  if (!/^-?\d+$/.test(String(value))) return 0.5
  const n = BigInt(String(value))
  return BigInt.asIntN(64, n) === n ? Number(n) : 0.5
}

/** Generates the text of a parameter, or undefined. On the wire, integers are digits. */
function parameter({ name, in: location, schema }: Parameter): fc.Arbitrary<Part & { name: string; location: string }> {
  const isSendable = (text: string) =>
    text.isWellFormed() && (location !== 'header' || /^[\x20-\x7e\x80-\xff]*$/.test(text))
  const allows = validatorOf(schema)
  function isValid(text: string): Part['valid'] {
    if (resolve(schema).type !== 'integer') return allows(text)
    if (/^0\d/.test(text)) return 'maybe' // digits for a size, but not the canonical ones of an id
    return /^(0|-?[1-9]\d*)$/.test(text) && allows(BigInt(text))
  }
  const text = fc.oneof({ weight: 2, arbitrary: validValue(schema).map(String) }, anyText).filter(isSendable)
  return (location === 'path' ? text : fc.option(text, { nil: undefined, freq: 2 })).map((value) => {
    if (value === undefined || name === 'If-None-Match') return { name, location, value, valid: true }
    const valid = isValid(location === 'header' ? value.trim() : value)
    return { name, location, value, valid: valid && name === 'cursor' ? 'maybe' : valid }
  })
}

/** Generates bodies: objects with unknown, invalid and missing members, and what is no object. */
function body(schema: Schema, hasReferences: boolean): fc.Arbitrary<Part> {
  const allows = validatorOf(schema)
  const edges = [null, true, '', '1', ' ', 'a\0', 'x'.repeat(256), 1.5, 0, 2 ** 60, 2n ** 63n, -(2n ** 63n) - 1n]
  const members = Object.entries(resolve(schema).properties ?? {}).map(
    ([name, member]) =>
      [name, fc.oneof(validValue(member), fc.constantFrom(...edges), fc.jsonValue(), anyText)] as const,
  )
  const pet = fc.oneof(validValue(schema), fc.record(Object.fromEntries(members), { requiredKeys: [] }))
  const object = fc
    .tuple(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 2 }), pet)
    .map((all) => Object.assign({}, ...all))
  const toPart = (value: unknown): Part => ({
    value: toText(value),
    valid: allows(value) && (hasReferences ? 'maybe' : true),
  })
  const text = fc.string().map((value): Part => ({ value, valid: false }))
  return fc.oneof({ weight: 6, arbitrary: object.map(toPart) }, fc.jsonValue().map(toPart), text)
}

/** @returns JSON, with the digits of a bigint as a number */
function toText(value: unknown): string {
  const text = JSON.stringify(value, (_name, one: unknown) => (typeof one === 'bigint' ? `digits ${one}` : one))
  return text.replace(/"digits (-?\d+)"/g, '$1')
}

/** The paths of the resources whose items refer to rows that may not exist. */
const referring = new Set(
  RESOURCES.filter(({ resource }) => resource.references).flatMap(({ rest }) =>
    rest.operations.map(({ path }) => path),
  ),
)

const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, { parameters, requestBody }]) => {
    const { schema } = requestBody?.content['application/json'] ?? {}
    const payload = schema ? body(schema, referring.has(path)) : fc.constant(undefined)
    const generated = fc.record({ parameters: fc.tuple(...parameters.map(parameter)), body: payload })
    return generated.map((one) => ({ path, method: method.toUpperCase(), ...one }))
  }),
)
test(
  `${requests} generated requests: no 5xx, no undocumented response, no accepted invalid request (seed ${seed})`,
  { timeout: 600_000 },
  async ({ service }) => {
    const sent = { valid: 0, invalid: 0 }
    await fc.assert(
      fc.asyncProperty(fc.oneof(...operations), async ({ path, method, parameters, body: payload }) => {
        const inLocation = (wanted: string) =>
          parameters.flatMap(({ location, name, value }): [string, string][] =>
            location === wanted && value !== undefined ? [[name, value]] : [],
          )
        const [[, segment] = ['', undefined]] = inLocation('path')
        fc.pre(!/^\.{0,2}$/.test(segment ?? 'x')) // URL parsers remove "." and ".."
        const resolvedPath = path.replace(/\{.*\}/, encodeURIComponent(segment ?? ''))
        const query = new URLSearchParams(inLocation('query')).toString()
        const type = payload && { 'Content-Type': 'application/json' }
        const headers = { ...Object.fromEntries(inLocation('header')), ...type }
        // `send` compares the response with the document.
        const init = { method, headers, body: payload?.value ?? null }
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
    expect((await service.send('/v1/pets?limit=100')).status).toBe(200)
  },
)
