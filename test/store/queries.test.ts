import fc from 'fast-check'
import type pg from 'pg'
import { expect } from 'vitest'
import { Animal, animals } from '../../src/pets/animal.ts'
import { createStore } from '../../src/store/store.ts'
import { testWithService as test } from '../support/harness.ts'
import { interceptStatements } from '../support/statements.ts'

const status = fc.constantFrom('available', 'pending', 'sold', undefined)

test('each creation returns what Prisma reads, to each of its callers, in whatever order PostgreSQL returns ids', async ({
  service: owner,
}) => {
  const { prisma, statements, runCount } = owner.database
  interceptStatements(owner, async ({ text }, send) => {
    const result = (await send()) as pg.QueryResult // as pg's promise
    if (text.includes('INSERT')) result.rows.reverse()
    return result
  })
  const { create } = createStore(animals, statements, runCount)
  const absent = Object.fromEntries(Object.keys(Animal.shape).map((member) => [member, null]))
  const pet = fc.record({
    name: fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => !name.includes('\0')),
    categoryId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    status,
  })
  await fc.assert(
    fc.asyncProperty(fc.array(pet, { maxLength: 60 }), async (pets) => {
      const created = (await Promise.all(pets.map((one) => create(one)))).map(({ item }) => item)
      expect(created).toEqual(
        pets.map((pet, n) => ({ ...absent, ...pet, status: pet.status ?? null, id: created[n]?.id })),
      )
      const ids = created.map(({ id }) => id)
      const stored = await prisma.animal.findMany({ where: { id: { in: ids } }, orderBy: { id: 'asc' } })
      expect(stored).toEqual(created.toSorted(inOrderOfId))
    }),
    { numRuns: 30 },
  )
})

function inOrderOfId(a: Animal, b: Animal): number {
  return a.id < b.id ? -1 : 1
}
