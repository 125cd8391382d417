import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJson, toJson } from '../../src/http/json.ts'

describe('parseJson', () => {
  test('equals JSON.parse except for integers that a double cannot hold', () => {
    const asDouble = (_key: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
    fc.assert(
      fc.property(fc.json(), (text) => {
        const parsed = parseJson(text)
        const rounded: unknown =
          typeof parsed === 'object' ? JSON.parse(JSON.stringify(parsed, asDouble)) : asDouble('', parsed)
        expect(rounded).toEqual(JSON.parse(text))
      }),
      { numRuns: 1_000 },
    )
  })

  test('returns every integer exactly, at any position', () => {
    const integer = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n })
    fc.assert(
      fc.property(integer, fc.string({ unit: 'binary' }), (n, name) => {
        const text = `{${JSON.stringify(name)}:[${n},{"a":${n}}],${JSON.stringify(`${name}b`)}:${JSON.stringify(`${name}${n}`)}}`
        const [first, { a }] = Object.values(parseJson(text) as object)[0]
        expect([BigInt(first), BigInt(a)]).toEqual([n, n])
        expect(typeof first).toBe(Number.isSafeInteger(Number(n)) ? 'number' : 'bigint')
      }),
      { numRuns: 1_000 },
    )
  })

  test('parses strings and keys equally with and without a long number in the text', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (members) => {
        const text = JSON.stringify(members)
        const [alone] = parseJson(`[${text},9007199254740993]`) as [object]
        expect(JSON.stringify(alone)).toBe(JSON.stringify(JSON.parse(text)))
      }),
      { numRuns: 1_000 },
    )
  })

  const exact: [string, number | bigint][] = [
    ['1.0', 1],
    ['-0.0', 0],
    ['1e2', 100],
    ['12.50e1', 125],
    ['-100e-2', -1],
    ['0e-1', 0],
    ['12345678901234567890e-1', 1234567890123456789n],
    ['0e999', 0],
    ['1e20', 10n ** 20n],
    ['9007199254740991.0', 9007199254740991],
    ['9007199254740993.0', 9007199254740993n],
    ['922337203685477e4', 9223372036854770000n],
    ['1.5', 1.5],
    ['1e-1', 0.1],
    ['0.30000000000000001', 0.3],
  ]
  test.for(exact)('%s is %s', ([text, value]) => {
    expect(parseJson(`[${text}]`)).toEqual([value])
  })

  test('a number beyond int64 has no more digits than a double', () => {
    expect(parseJson('[1e1000,-1e1000,1e300]')).toEqual([Infinity, -Infinity, BigInt(1e300)])
  })
})

describe('toJson', () => {
  test('round-trips with parseJson, integers of any size without rounding', () => {
    const value = fc.oneof(fc.bigInt(), fc.string({ unit: 'binary' }), fc.boolean(), fc.integer())
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.stringMatching(/^[a-zA-Z]\w*$/), value)), (rows) => {
        const back = parseJson(toJson(rows)) as Record<string, unknown>[]
        const text = (v: unknown) => (typeof v === 'bigint' || typeof v === 'number' ? `int ${BigInt(v)}` : v)
        const plain = (list: Record<string, unknown>[]) =>
          list.map((row) => Object.entries(row).map(([key, v]) => [key, text(v)]))
        expect(plain(back)).toEqual(plain(rows))
      }),
      { numRuns: 500 },
    )
  })
})
