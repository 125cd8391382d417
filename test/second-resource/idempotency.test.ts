import { describe, expect } from 'vitest'
import { animals } from '../../src/pets/animal.ts'
import { createIdempotentInsertQuery } from '../../src/store/idempotency.ts'
import type { TestService } from '../support/harness.ts'
import { createByVersion1, REX } from '../support/version-1.ts'
import { clientIdOf, storeOf, testWithOrders as test } from './fixture.ts'

const KEY = 'k'
const REUSED = { code: 'IDEMPOTENCY_KEY_REUSED' }

/** @returns the id, and whether it is of an earlier request; or the code of the error */
async function createRex({ post }: TestService) {
  const response = await post(REX, { 'Idempotency-Key': KEY })
  const { id, code } = (await response.json()) as { id?: number; code?: string }
  return code ? { code } : { id, replayed: response.headers.has('idempotent-replayed') }
}

async function order(service: TestService) {
  const { create } = storeOf(service)
  const { item, replayed } = await create({ petId: 1n, quantity: 1 }, { clientId: await clientIdOf(service), key: KEY })
  return { id: item.id, replayed }
}

const createAsVersion1 = async (service: TestService) =>
  createByVersion1(service.database.pool, await clientIdOf(service), KEY)

const expire = ({ database: { pool } }: TestService) =>
  pool.query("UPDATE idempotency_key SET created_at = now() - interval '25 hours'")

describe('an Idempotency-Key of another resource', () => {
  test('is 422 when it was used for a pet, and for a pet when it was not', async ({ service }) => {
    expect(await createRex(service)).toEqual({ id: 2, replayed: false })
    await expect(order(service)).rejects.toMatchObject(REUSED)
    await service.database.pool.query('DELETE FROM idempotency_key')
    await order(service)
    expect(await createRex(service)).toEqual(REUSED)
    expect((await service.database.pool.query('SELECT FROM animal')).rowCount).toBe(2)
  })

  test('is of one resource when it has expired, in either order', async ({ service }) => {
    await order(service)
    for (const id of [2, 3]) {
      await expire(service)
      expect(await createRex(service)).toEqual({ id, replayed: false })
      await expect(order(service)).rejects.toMatchObject(REUSED)
      await expire(service)
      expect(await order(service)).toEqual({ id: BigInt(id), replayed: false })
      expect(await order(service)).toEqual({ id: BigInt(id), replayed: true })
      expect(await createRex(service)).toEqual(REUSED)
    }
  })

  test('is 422 after its row was deleted', async ({ service }) => {
    await order(service)
    await service.database.pool.query('DELETE FROM "order"')
    await expect(order(service)).rejects.toMatchObject(REUSED)
  })
})

describe('beside version 1.1.0', () => {
  test('a key creates one pet, whichever version it reaches first', async ({ service }) => {
    expect(await createAsVersion1(service)).toBe(2)
    expect(await createRex(service)).toEqual({ id: 2, replayed: true })
    await service.database.pool.query('DELETE FROM idempotency_key')
    expect(await createRex(service)).toEqual({ id: 3, replayed: false })
    expect(await createAsVersion1(service)).toBe(3)
  })

  test('an expired key creates one more pet, whichever version it reaches first', async ({ service }) => {
    await createRex(service)
    await expire(service)
    expect(await createAsVersion1(service)).toBe(3)
    expect(await createRex(service)).toEqual({ id: 3, replayed: true })
    await expire(service)
    expect(await createRex(service)).toEqual({ id: 4, replayed: false })
    expect(await createAsVersion1(service)).toBe(4)
  })

  test('a key of an order that has expired and was claimed by version 1.1.0 is of the pet', async ({ service }) => {
    await order(service)
    expect(await createAsVersion1(service)).toBeUndefined() // 409
    await expire(service)
    expect(await createAsVersion1(service)).toBe(3) // and keeps the resource and the id of the order
    expect(await createRex(service)).toEqual({ id: 3, replayed: true })
    await expect(order(service)).rejects.toMatchObject(REUSED)
    await expire(service)
    expect(await order(service)).toEqual({ id: 2n, replayed: false })
    expect(await createAsVersion1(service)).toBeUndefined()
  })
})

test('a key that version 1.1.0 has claimed for a pet is 422 for the same body of the resource that had it', async ({
  service,
}) => {
  const { version1: _version1, ...unnamed } = animals
  const twins = { ...unnamed, name: 'twins' }
  const create = createIdempotentInsertQuery(twins, service.database.statements)
  const createTwin = async () => create({ clientId: await clientIdOf(service), key: KEY }, { ...REX, categoryId: 1n })
  await createTwin()
  await expire(service)
  await createAsVersion1(service)
  await expect(createTwin()).rejects.toMatchObject(REUSED)
})

test('a key of a pet as later versions may store it, with the name of the resource, returns the pet', async ({
  service,
}) => {
  await createRex(service)
  const { pool } = service.database
  await pool.query("UPDATE idempotency_key SET resource = 'animals', row_id = animal_id, animal_id = NULL")
  expect(await createRex(service)).toEqual({ id: 2, replayed: true })
})
