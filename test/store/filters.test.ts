import { expect } from 'vitest'
import { filterKey, PetStatus, toCursor } from '../../src/pets/animal.ts'
import { INT64_MAX, INT64_MIN } from '../../src/store/types.ts'
import { type TestService, testWithSharedService as test } from '../support/harness.ts'

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

/** All pages of a list by GraphQL, newest first. @param variables the filter, and where the list ends */
async function walkPages({ graphql }: TestService, backward: boolean, size: number, variables: object) {
  const pages: Page[] = []
  let position = {}
  for (;;) {
    const { data, errors } = await graphql(PETS, { ...variables, [backward ? 'last' : 'first']: size, ...position })
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
  const categories = [1n, INT64_MIN, INT64_MAX]
  // Every status and none, in every category. Some ids are missing.
  const { rows } = await service.database.pool.query(`
    INSERT INTO animal (id, name, category_id, status)
    SELECT n + n / 7, 'x', (ARRAY[${categories.join()}])[1 + n % 3], (enum_range(NULL::pet_status))[1 + n % 4]
    FROM generate_series(1, 30) AS n RETURNING id, category_id, status`)
  const walk = async (backward: boolean, size: number, end?: bigint, status?: PetStatus, categoryId?: bigint) => {
    const bound = { [backward ? 'after' : 'before']: end && toCursor(end, filterKey({ status, categoryId })) }
    const pages = await walkPages(service, backward, size, { status, categoryId: categoryId?.toString(), ...bound })
    const ids: bigint[] = rows
      .filter((row) => status === undefined || row.status === status)
      .filter((row) => categoryId === undefined || BigInt(row.category_id) === categoryId)
      .map(({ id }) => BigInt(id))
    const expected = ids.filter((id) => !end || (backward ? id < end : id > end)).toReversed()
    expect(pages.flatMap(({ nodes }) => nodes.map(({ id }) => BigInt(id)))).toEqual(expected)
    expect(new Set(pages.map(({ totalCount }) => totalCount))).toEqual(new Set([ids.length]))
  }
  for (const status of [undefined, ...PetStatus.options])
    for (const categoryId of [undefined, ...categories, 404n])
      for (const backward of [true, false])
        for (const end of [undefined, 10n])
          await Promise.all([1, 5].map((size) => walk(backward, size, end, status, categoryId)))
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
