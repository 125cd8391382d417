import { expect, test } from 'vitest'
import { waitForWriters } from '../../src/feed/settled.ts'

test('a prepared transaction that gets a new id is awaited; those of others are not', () => {
  const wait = waitForWriters(['3/7', '-1/500'])
  wait.update(['3/7', '-1/500', '-1/501'])
  wait.update(['-1/501', '-1/502'])
  expect(wait.isOver).toBe(false) // -1/502 may be what was 3/7
  wait.update(['-1/502'])
  expect(wait.isOver).toBe(false)
  wait.update(['-1/503'])
  expect(wait.isOver).toBe(true)
})
