import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isWellFormedKey, mintKey } from '../../src/auth/api-keys.ts'

test('the checksum detects every change of one character', () => {
  const index = fc.integer({ min: 0, max: 61 })
  const character = fc.constantFrom(...'0123456789abcdefghijklmnopqrstuvwxyzABC_-. ')
  fc.assert(
    fc.property(index, character, (i, c) => {
      const key = mintKey()
      const changed = key.slice(0, i) + c + key.slice(i + 1)
      expect(isWellFormedKey(changed)).toBe(changed === key)
    }),
    { numRuns: 1_000 },
  )
})
