import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseJson, toJson } from '../../src/http/json.ts'

describe('parseJson', () => {
  test('is JSON.parse wherever no number is long', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const long = /\d[\d.]{15}/.test(text)
        fc.pre(!long)
        expect(parseJson(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 1_000 },
    )
  })

  test('gives any integer back to the digit, wherever it stands', () => {
    const integer = fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n })
    fc.assert(
      fc.property(integer, fc.string({ unit: 'binary' }), (n, name) => {
        const text = `{${JSON.stringify(name)}:[${n},{"a":${n}}],"b":${JSON.stringify(`${name}${n}`)}}`
        const [first, { a }] = Object.values(parseJson(text) as object)[0]
        expect([BigInt(first), BigInt(a)]).toEqual([n, n])
        expect(typeof first).toBe(Number.isSafeInteger(Number(n)) ? 'number' : 'bigint')
      }),
      { numRuns: 1_000 },
    )
  })

  test('reads strings and keys the same whether or not a long number stands beside them', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (members) => {
        const text = JSON.stringify(members)
        const [alone] = parseJson(`[${text},9007199254740993]`) as [object]
        expect(JSON.stringify(alone)).toBe(JSON.stringify(JSON.parse(text)))
      }),
      { numRuns: 1_000 },
    )
  })

  const inexact = ['1.0000000000000001', '9007199254740993.0', '123456789012345678e2', '0.30000000000000001']
  test.for(inexact)('%s is not rounded to its neighbour', (text) => {
    expect(parseJson(text)).toBeNaN()
  })

  test.for(['', '{', '01', '+1', '.5', '1.', '0x1', 'NaN', "{'a':1}", '[1,]', '{"a":12345678901234567890,}'])(
    '%s is no JSON',
    (text) => {
      expect(() => parseJson(text)).toThrow(SyntaxError)
    },
  )
})

describe('toJson', () => {
  test('writes what parseJson reads: integers of any size to the digit', () => {
    const value = fc.oneof(fc.bigInt(), fc.string({ unit: 'binary' }), fc.boolean(), fc.integer())
    fc.assert(
      fc.property(fc.array(fc.dictionary(fc.string({ minLength: 1 }), value)), (rows) => {
        const back = parseJson(toJson(rows)) as Record<string, unknown>[]
        const text = (v: unknown) => (typeof v === 'bigint' || typeof v === 'number' ? `int ${BigInt(v)}` : v)
        const plain = (list: Record<string, unknown>[]) =>
          list.map((row) => Object.entries(row).map(([key, v]) => [key, text(v)]))
        expect(plain(back)).toEqual(plain(rows))
      }),
      { numRuns: 500 },
    )
  })

  test('leaves out members that an animal does not have', () => {
    expect(toJson({ id: 1n, name: 'x', status: null })).toBe('{"id":1,"name":"x"}')
  })
})
