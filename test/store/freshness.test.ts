import { expect } from 'vitest'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { interceptStatements } from '../support/statements.ts'
import { waitUntil } from '../support/timeouts.ts'

/** Delays the result of the next query for animals until `release` is called. */
function delayNextResult(service: TestService) {
  const delayed = { hasArrived: false, release() {} }
  interceptStatements(service, async ({ text }, send) => {
    const result = await send()
    if (delayed.hasArrived || !/^\s*SELECT[^]*"animal"/.test(text)) return result
    delayed.hasArrived = true
    await new Promise<void>((resolve) => (delayed.release = resolve))
    return result
  })
  return delayed
}

const reads: [string, (service: TestService) => Promise<string>][] = [
  ['REST list', async ({ send }) => (await send('/v1/pets')).text()],
  ['REST get', async ({ send }) => (await send('/v1/pets/2')).text()],
  ['GraphQL list', async ({ graphql }) => JSON.stringify(await graphql('{ pets { nodes { name } } }'))],
  ['GraphQL get', async ({ graphql }) => JSON.stringify(await graphql('{ pet(id: 2) { name } }'))],
]

test.for(reads)(
  '%s: a read after a write does not share a read that started before it',
  async ([, read], { service }) => {
    await service.post({ name: 'first', categoryId: 1 })
    const delayed = delayNextResult(service)
    const before = read(service)
    await waitUntil(() => delayed.hasArrived)
    await service.create({ name: 'second' })
    const after = [read(service), read(service)]
    setTimeout(() => delayed.release(), 20)
    expect(await before).not.toContain('second')
    for (const body of await Promise.all(after)) expect(body).toContain('second')
  },
)
