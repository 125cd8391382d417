import { expect } from 'vitest'
import { type TestService, testWithService as test } from '../support/harness.ts'

/** Holds back what the database answers to the next query for animals, until `release`. */
function holdAnswers({ database }: TestService) {
  const query = database.pool.query.bind(database.pool) as (q: { text: string }) => Promise<unknown>
  let release = () => {}
  const released = new Promise<void>((resolve) => (release = resolve))
  let see = () => {}
  const seen = new Promise<void>((resolve) => (see = resolve))
  let held = false
  database.pool.query = (async (q: { text: string }) => {
    const answer = await query(q)
    if (held || !q.text.startsWith('SELECT animal')) return answer
    held = true
    see()
    await released
    return answer
  }) as never // stands in for all of pg's overloads
  return {
    release,
    /** The database has answered the first of them. */
    seen,
  }
}

const list = '{ pets { nodes { name } } }'
const one = '{ pet(id: 2) { name } }'

const reads: [string, (service: TestService) => Promise<string>][] = [
  ['REST list', async ({ send }) => (await send('/v1/pets')).text()],
  ['REST get', async ({ send }) => (await send('/v1/pets/2')).text()],
  ['GraphQL list', async ({ graphql }) => JSON.stringify(await graphql(list))],
  ['GraphQL get', async ({ graphql }) => JSON.stringify(await graphql(one))],
]

test.for(reads)(
  '%s: who knows of a write does not share an answer from before it, even if that is still under way',
  async ([, read], { service }) => {
    await service.post({ name: 'first', categoryId: 1 })
    const held = holdAnswers(service)
    const before = read(service)
    await held.seen
    expect((await service.post({ name: 'second', categoryId: 1 })).status).toBe(201)
    const after = [read(service), read(service)]
    setTimeout(held.release, 20)
    expect(await before).not.toContain('second')
    for (const answer of await Promise.all(after)) expect(answer).toContain('second')
  },
)

test('GraphQL: what only looks alike is not shared', async ({ service }) => {
  await service.post({ name: 'x', categoryId: 1 })
  const query = 'query A($n: Boolean = true) { pet(id: 1) { name @include(if: $n) id } } query B { pet(id: 1) { id } }'
  const ask = async (more: object) => {
    const init = { method: 'POST', headers: { 'Content-Type': 'application/json' } }
    const response = await service.send('/graphql', { ...init, body: JSON.stringify({ query, ...more }) })
    return ((await response.json()) as { data: { pet: object } }).data.pet
  }
  const variables = { n: false }
  const answers = await Promise.all(
    [{ operationName: 'A' }, { operationName: 'A', variables }, { operationName: 'B' }].map(ask),
  )
  expect(answers).toEqual([{ name: 'x', id: '1' }, { id: '1' }, { id: '1' }])
})
