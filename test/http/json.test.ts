import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseJson } from '../../src/http/json.ts'

/** A number as JSON writes it, in every form: any digits, with and without a fraction and an exponent. */
const digits = fc.oneof(
  fc.bigInt({ min: 0n, max: 2n ** 70n }).map(String),
  fc.constantFrom('0', '1', '9007199254740991', '9007199254740992', '9007199254740993', '9223372036854775807'),
)
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    digits,
    fc.option(fc.oneof(fc.constantFrom('0', '00', '0000000000000000000000'), digits), { nil: undefined }),
    fc.option(fc.oneof(fc.integer({ min: -30, max: 30 }), fc.constantFrom('+2', '-400', '400', '007')), {
      nil: undefined,
    }),
    fc.constantFrom('e', 'E'),
  )
  .map(([sign, whole, decimals, exponent, e]) => {
    const fraction = decimals === undefined ? '' : `.${decimals}`
    return `${sign}${whole}${fraction}${exponent === undefined ? '' : `${e}${exponent}`}`
  })

/** Strings with escapes and with what looks like numbers and ends of strings. */
const stringText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text)),
  fc.constantFrom(
    '""',
    '"__proto__"',
    '"1e18"',
    '"0"',
    String.raw`"\\"`,
    String.raw`"\",9007199254740993,\""`,
    '"\\u0031e18"',
  ),
)

type Json = { text: string; value: unknown }
const withValue = (text: string): Json => ({ text, value: JSON.parse(text) })

const { json } = fc.letrec<{ json: Json }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6 },
    numberText.map((text) => ({ text, value: readNumber(text) })),
    fc.oneof(stringText, fc.constantFrom('true', 'false', 'null', ' 1e1 ')).map(withValue),
    fc.array(tie('json'), { maxLength: 4 }).map((items) => {
      return { text: `[${items.map(({ text }) => text).join()}]`, value: items.map(({ value }) => value) }
    }),
    fc.array(fc.tuple(stringText, tie('json')), { maxLength: 4 }).map((members) => {
      const text = `{${members.map(([name, member]) => `${name}:${member.text}`).join(', ')}}`
      return { text, value: Object.fromEntries(members.map(([name, { value }]) => [JSON.parse(name), value])) }
    }),
  ),
}))

/** Computes a number as a fraction of bigints. */
function readNumber(token: string): number | bigint {
  const double = Number(token)
  if (/^-?\d{1,15}$/.test(token)) return double
  const [, mantissa = '', decimals = '', exponent = '0'] = /^(-?\d+)(?:\.(\d+))?(?:e(.*))?$/i.exec(token) ?? []
  const numerator = BigInt(mantissa.replace('-', '') + decimals) * (mantissa.startsWith('-') ? -1n : 1n)
  const shift = Number(exponent) - decimals.length
  const scale = 10n ** BigInt(Math.abs(shift))
  if (numerator === 0n) return 0
  if (shift < 0 && numerator % scale !== 0n) return Number.isInteger(double) ? Number.NaN : double
  if (!Number.isFinite(double)) return double
  const integer = shift < 0 ? numerator / scale : numerator * scale
  if (integer % 10n ** 21n === 0n) return BigInt(double) // beyond int64
  return Number.isSafeInteger(Number(integer)) ? Number(integer) : integer
}

/** Members in their order: `toEqual` ignores it, and `__proto__`. */
const shown = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shown)
  if (typeof value !== 'object' || value === null) return value
  return { members: Object.entries(value).map(([name, member]) => [name, shown(member)]) }
}

test('parseJson returns the values of which a text was made, for numbers in every form, at every depth', () => {
  const same = fc.property(json, ({ text, value }) => void expect(shown(parseJson(text))).toEqual(shown(value)))
  fc.assert(same, { numRuns: 2_000 })
})

test('parseJson rejects what JSON.parse rejects', () => {
  const character = fc.constantFrom(...'0123456789.eE+-"\\,:[]{} \n', '12345678901234567890')
  const broken = fc.tuple(json, fc.nat(), fc.nat({ max: 2 }), character).map(([{ text }, at, removed, inserted]) => {
    const index = at % (text.length + 1)
    return text.slice(0, index) + inserted + text.slice(index + removed)
  })
  const rejects = (parse: (text: string) => unknown, text: string) => {
    try {
      parse(text)
      return false
    } catch {
      return true
    }
  }
  const same = fc.property(broken, (text) => void expect(rejects(parseJson, text)).toBe(rejects(JSON.parse, text)))
  fc.assert(same, { numRuns: 5_000 })
})
