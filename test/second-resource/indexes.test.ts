import { expect } from 'vitest'
import { columnOf } from '../../src/store/table.ts'
import { testWithOrders as test, WITH_ORDERS } from './fixture.ts'

test('each combination of filters that a list accepts has an index that ends with the id', async ({ service }) => {
  for (const { resource } of WITH_ORDERS) {
    const { rows } = await service.database.pool.query('SELECT indexdef FROM pg_indexes WHERE tablename = $1', [
      resource.table,
    ])
    const indexes = rows.map(({ indexdef }) => indexdef.replace(/^.* USING /, ''))
    for (const members of combinationsOf(Object.keys(resource.filters)))
      expect(indexes).toContain(`btree (${[...members.map(columnOf), 'id'].join(', ')})`)
  }
})

/** Every choice of some of the members, in their order. */
function combinationsOf(members: string[]): string[][] {
  const [first, ...rest] = members
  if (first === undefined) return [[]]
  const others = combinationsOf(rest)
  return [...others, ...others.map((some) => [first, ...some])]
}
