import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createSettledId } from '../../src/feed/settled.ts'
import { trackWriters } from '../../src/feed/writers.ts'
import { animals } from '../../src/pets/animal.ts'
import { stopClock } from '../support/timeouts.ts'

test('a prepared transaction that gets a new id is awaited; those of others are not [F5]', () => {
  const wait = trackWriters(['3/7', '-1/500'])
  wait.update(['3/7', '-1/500', '-1/501'])
  wait.update(['-1/501', '-1/502'])
  expect(wait.isOver).toBe(false) // -1/502 may be what was 3/7
  wait.update(['-1/502'])
  expect(wait.isOver).toBe(false)
  wait.update(['-1/503'])
  expect(wait.isOver).toBe(true)
})

/** A database, and settled ids of it. */
function createDatabase() {
  const database = { newest: 100n, writers: [] as string[], history: 'first', isStandby: false }
  const settled = createSettledId(animals, async <Row>() => [{ ...database }] as Row[], 5_000)
  return { database, settled, clock: stopClock() }
}

test('an earlier settled id counts while a transaction takes long, but not for another state of the database [F19]', async () => {
  const { database, settled, clock } = createDatabase()
  expect(await settled.find()).toBe(100n)
  Object.assign(database, { newest: 110n, writers: ['3/1'] })
  const same = settled.find()
  await setImmediate() // it has begun
  clock.advance(5_000)
  expect(await same).toBe(100n)
  database.history = 'second'
  const other = settled.find()
  await setImmediate()
  clock.advance(5_000)
  await expect(other).rejects.toThrow('has not ended')
})

test('a settled id that a probe is finding is not that of a later caller', async () => {
  const { database, settled } = createDatabase()
  database.writers = ['3/1']
  const probe = settled.refresh()
  Object.assign(database, { newest: 110n, writers: [] })
  expect(await settled.find()).toBe(110n)
  await probe
})

test('a probe that ends after the search of a caller does not replace its result', async () => {
  const { database, settled, clock } = createDatabase()
  database.writers = ['3/1']
  const probe = settled.refresh()
  await setImmediate()
  Object.assign(database, { newest: 110n, writers: [] })
  expect(await settled.find()).toBe(110n)
  await probe
  Object.assign(database, { newest: 120n, writers: ['3/2'] })
  const next = settled.find()
  await setImmediate()
  clock.advance(250)
  expect(await next).toBe(110n)
})

test('a settled id that was being found when the earlier ones were forgotten is not remembered', async () => {
  const { database, settled, clock } = createDatabase()
  database.writers = ['3/1']
  const before = settled.find()
  settled.forget()
  database.writers = []
  expect(await before).toBe(100n)
  Object.assign(database, { newest: 110n, writers: ['3/2'] })
  const after = settled.find()
  await setImmediate()
  clock.advance(5_000)
  await expect(after).rejects.toThrow('has not ended')
})
