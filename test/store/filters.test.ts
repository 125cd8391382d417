import fc from 'fast-check'
import { expect } from 'vitest'
import { type Animal, type animals, PetStatus, filterKey, toCursor } from '../../src/pets/animal.ts'
import type { Filter as ResourceFilter } from '../../src/store/resource.ts'
import { INT64_MAX, INT64_MIN } from '../../src/store/contract.ts'
import { type TestService, testWithSharedService as test } from '../support/harness.ts'

type Filter = ResourceFilter<typeof animals>
type Row = Pick<Animal, 'id' | 'status' | 'categoryId'>

const status = fc.constantFrom(...PetStatus.options)
const categoryId = fc.constantFrom(1n, 2n, INT64_MIN, INT64_MAX)
const rows = fc.array(fc.record({ status: fc.option(status), categoryId }), { maxLength: 60 })
const members = { status, categoryId: fc.oneof(categoryId, fc.constant(404n)) }
const filter: fc.Arbitrary<Filter> = fc.record(members, { requiredKeys: [] })
/** `end` is the number of the row at which it ends; without such a row, it ends at the end of the list. */
const walk = fc.record({ filter, size: fc.integer({ min: 1, max: 9 }), backward: fc.boolean(), end: fc.nat(60) })
type Walk = typeof walk extends fc.Arbitrary<infer Value> ? Value : never

/** @returns the rows with their ids, which have gaps, oldest first */
async function replaceRows({ database: { pool } }: TestService, created: Omit<Row, 'id'>[]): Promise<Row[]> {
  const all = created.map((row, n) => ({ ...row, id: BigInt(3 * n + 1) }))
  await pool.query('TRUNCATE animal CASCADE')
  await pool.query(
    `INSERT INTO animal (id, name, category_id, status) SELECT id, 'x', category, status
     FROM unnest($1::bigint[], $2::bigint[], $3::pet_status[]) AS row (id, category, status)`,
    [all.map(({ id }) => id), all.map(({ categoryId }) => categoryId), all.map(({ status }) => status)],
  )
  return all
}

/** The ids of a filter, newest first. */
function idsWith({ status, categoryId }: Filter, all: Row[]): bigint[] {
  return all
    .filter((row) => status === undefined || row.status === status)
    .filter((row) => categoryId === undefined || row.categoryId === categoryId)
    .map(({ id }) => id)
    .reverse()
}

const PETS = `
  query ($status: PetStatus, $categoryId: ID, $first: Int, $after: String, $last: Int, $before: String) {
    pets(status: $status, categoryId: $categoryId, first: $first, after: $after, last: $last, before: $before) {
      nodes { id }
      edges { cursor node { id } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
      totalCount
    }
  }`

interface Page {
  nodes: { id: string }[]
  edges: { cursor: string; node: { id: string } }[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
  totalCount: number
}

/** All pages of a list up to an animal by GraphQL, newest first. */
async function walkPages({ graphql }: TestService, { filter, size, backward }: Walk, end?: bigint): Promise<Page[]> {
  const pages: Page[] = []
  let position = {}
  const until = end && { [backward ? 'after' : 'before']: toCursor(end, filterKey(filter)) }
  for (;;) {
    const variables = { ...filter, categoryId: filter.categoryId?.toString(), [backward ? 'last' : 'first']: size }
    const { data, errors } = await graphql(PETS, { ...variables, ...until, ...position })
    expect(errors).toBeUndefined()
    const { pets: page } = data as unknown as { pets: Page } // as selected
    const { hasNextPage, hasPreviousPage, startCursor, endCursor } = page.pageInfo
    expect(page.edges.map(({ node }) => node)).toEqual(page.nodes)
    const ends = [page.edges.at(0)?.cursor ?? null, page.edges.at(-1)?.cursor ?? null]
    expect([startCursor, endCursor]).toEqual(ends)
    expect(backward ? hasNextPage : hasPreviousPage).toBe(pages.length > 0)
    pages.push(page)
    if (!(backward ? hasPreviousPage : hasNextPage)) return backward ? pages.reverse() : pages
    position = backward ? { before: startCursor } : { after: endCursor }
  }
}

test('the pages of every filter between any bounds have each of its animals once, in order; totalCount is of all', async ({
  service,
}) => {
  await fc.assert(
    fc.asyncProperty(rows, fc.array(walk, { minLength: 1, maxLength: 4 }), async (created, walks) => {
      const all = await replaceRows(service, created)
      await Promise.all(
        walks.map(async (one) => {
          const end = all[one.end]?.id
          const pages = await walkPages(service, one, end)
          const ids = idsWith(one.filter, all)
          const expected = ids.filter((id) => end === undefined || (one.backward ? id < end : id > end))
          expect(pages.flatMap(({ nodes }) => nodes.map(({ id }) => BigInt(id)))).toEqual(expected)
          for (const { totalCount } of pages) expect(totalCount).toBe(ids.length)
        }),
      )
    }),
    { numRuns: 40 },
  )
})

test('a cursor is valid with its filter only', async ({ service }) => {
  const filters: [filter: string, args: string][] = [
    ['all', ''],
    ['sold', 'status: sold, '],
    ['all,7', 'categoryId: 7, '],
    ['sold,7', 'status: sold, categoryId: "7", '],
    ['sold,-7', 'status: sold, categoryId: "-7", '],
  ]
  for (const [name] of filters) {
    for (const [other, args] of filters) {
      const { errors } = await service.graphql(`{ pets(${args}after: "${toCursor(5n, name)}") { nodes { id } } }`)
      const message = 'after: must be a cursor from a list with the same filter'
      expect(errors?.map((error) => error.message)).toEqual(name === other ? undefined : [message])
    }
  }
})
