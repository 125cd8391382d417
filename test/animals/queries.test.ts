import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import type pg from 'pg'
import { describe, expect } from 'vitest'
import { Animal } from '../../src/animals/animal.ts'
import { createList, type ListQuery } from '../../src/animals/lists.ts'
import { columnOf, createInsert } from '../../src/animals/queries.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { interceptStatements } from '../support/statements.ts'

const ids = [-(2n ** 63n), -1n, 0n, 1n, 2n, 3n, 9_007_199_254_740_993n, 2n ** 63n - 1n]
const status = fc.constantFrom('available', 'pending', 'sold', undefined)
const listQuery: fc.Arbitrary<ListQuery> = fc.record({
  status,
  categoryId: fc.constantFrom(-1n, 1n, 2n, undefined),
  olderThan: fc.option(fc.constantFrom(...ids), { nil: undefined }),
  newerThan: fc.option(fc.constantFrom(...ids), { nil: undefined }),
  backward: fc.boolean(),
  limit: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.constant(20)),
})

async function fill(service: TestService): Promise<void> {
  const statuses = ['available', 'pending', 'sold', null] as const
  await service.database.prisma.animal.createMany({
    data: ids.map((id, n) => ({ id, name: `ü${n}'"`, categoryId: n % 3 ? 1n : -1n, status: statuses[n % 4] ?? null })),
  })
}

test('every member of Animal has the column that schema.prisma maps it to', () => {
  const schema = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8')
  const [, model = ''] = /^model Animal \{\n(.*?)^\}/ms.exec(schema) ?? []
  const lines = model.split('\n').map((line) => /^ {2}(\w+) +(?!\w+\[\])\w+\??(?:.*@map\("(\w+)"\))?/.exec(line) ?? [])
  const columns = lines.flatMap(([, field, column = field]) => (field ? [[field, column]] : []))
  expect(columns).toEqual(Object.keys(Animal.shape).map((field) => [field, columnOf(field)]))
})

/** What Prisma returns for a list. */
async function expectedList({ database }: TestService, query: ListQuery) {
  const { status, categoryId, olderThan, newerThan, backward, limit } = query
  return database.prisma.animal.findMany({
    where: {
      ...(status && { status }),
      ...(categoryId !== undefined && { categoryId }),
      id: { ...(olderThan !== undefined && { lt: olderThan }), ...(newerThan !== undefined && { gt: newerThan }) },
    },
    orderBy: { id: backward ? 'asc' : 'desc' },
    take: limit + 1,
  })
}

describe('each statement returns what Prisma returns, to each of its callers', () => {
  test('list', async ({ service: owner }) => {
    await fill(owner)
    const list = createList(owner.database.statements)
    await fc.assert(
      fc.asyncProperty(fc.array(listQuery, { minLength: 1, maxLength: 30 }), async (queries) => {
        const expected = await Promise.all(queries.map((query) => expectedList(owner, query)))
        expect(await Promise.all(queries.map(list))).toEqual(expected)
      }),
      { numRuns: 50 },
    )
  })

  test('create', async ({ service: owner }) => {
    const { prisma, statements } = owner.database
    const insert = createInsert(statements)
    const absent = Object.fromEntries(Object.keys(Animal.shape).map((member) => [member, null]))
    const pet = fc.record({
      name: fc.string({ unit: 'grapheme', minLength: 1 }).filter((name) => !name.includes('\0')),
      categoryId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      status,
    })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(pet, { maxLength: 4 }), { maxLength: 60 }), async (requests) => {
        const created = (await Promise.all(requests.map(insert))).flat()
        const pets = requests.flat()
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
})

test('creations of one statement get their ids in the order of arrival, in whatever order these are returned', async ({
  service: owner,
}) => {
  const { prisma, statements } = owner.database
  const batches: string[][] = []
  interceptStatements(owner, async ({ text, values }, send) => {
    const result = (await send()) as pg.QueryResult // as pg's promise
    if (text.includes('INSERT')) {
      batches.push(JSON.parse(String(values[0])).map(({ name }: { name: string }) => name))
      result.rows.reverse()
    }
    return result
  })
  const insert = createInsert(statements)
  const requests = Array.from({ length: 30 }, (_, n) => [`${n}`, `${n} too`].map((name) => ({ name, categoryId: 1n })))
  const created = (await Promise.all(requests.map(insert))).flat()
  const stored = await prisma.animal.findMany({ orderBy: { id: 'asc' } })
  expect(created.toSorted(inOrderOfId)).toEqual(stored)
  const names = stored.map(({ name }) => name)
  for (const batch of batches) expect(names.filter((name) => batch.includes(name))).toEqual(batch)
})

function inOrderOfId(a: Animal, b: Animal): number {
  return a.id < b.id ? -1 : 1
}
