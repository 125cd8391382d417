import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createSettledId } from '../../src/feed/settled.ts'
import { createWriterWait } from '../../src/feed/writers.ts'
import { animals } from '../../src/pets/animal.ts'
import { stopClock } from '../support/timeouts.ts'

test('a prepared transaction that gets a new id is awaited; those of others are not [F5]', async () => {
  const database = { newest: 1n, history: '', isStandby: false, writers: ['3/7', '-1/500'] }
  const wait = await createWriterWait(animals, async <Row>() => [{ ...database }] as Row[])()
  const isOverWith = async (writers: string[]) => {
    database.writers = writers
    await wait.update()
    return wait.isOver
  }
  expect(await isOverWith(['3/7', '-1/500', '-1/501'])).toBe(false)
  expect(await isOverWith(['-1/501', '-1/502'])).toBe(false) // -1/502 may be what was 3/7
  expect(await isOverWith(['-1/501', '-1/502', '-1/503'])).toBe(false)
  expect(await isOverWith(['-1/501', '-1/503'])).toBe(true) // of others
})

/** A database, and settled ids of it. */
function createDatabase() {
  const database = { newest: 100n, writers: [] as string[], history: 'first', isStandby: false }
  const settled = createSettledId(animals, async <Row>() => [{ ...database }] as Row[], 5_000)
  const clock = stopClock()
  /** Finds a settled id, while the clock advances. */
  async function findAfter(ms: number): Promise<bigint> {
    const found = settled.find()
    await setImmediate() // it has begun
    clock.advance(ms)
    return found
  }
  return { database, settled, findAfter }
}

test('an earlier settled id counts while a transaction takes long, but not for another state of the database [F19]', async () => {
  const { database, settled, findAfter } = createDatabase()
  expect(await settled.find()).toBe(100n)
  Object.assign(database, { newest: 110n, writers: ['3/1'] })
  expect(await findAfter(5_000)).toBe(100n)
  database.history = 'second'
  await expect(findAfter(5_000)).rejects.toThrow('has not ended')
})

test('what a probe is finding is not the result of a later caller, and does not replace it', async () => {
  const { database, settled, findAfter } = createDatabase()
  database.writers = ['3/1']
  const probe = settled.refresh()
  await setImmediate()
  Object.assign(database, { newest: 110n, writers: [] })
  expect(await settled.find()).toBe(110n)
  await probe
  Object.assign(database, { newest: 120n, writers: ['3/2'] })
  expect(await findAfter(250)).toBe(110n)
})
