import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { testWithService as test } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'
import { add, CLOSED, liveClients, openList, streamsOf } from './live-list.ts'
import { proxyPrograms, startProxyProgram } from './proxy-programs.ts'

describe.for(proxyPrograms)('behind $name', ({ name, installed }) => {
  const title = installed ? '' : ` (SKIPPED: ${name} is not installed)`

  test.skipIf(!installed).for(Object.entries(liveClients))(
    `%s receives events at once, and closes its stream${title}`,
    async ([, client], { service }) => {
      const list = await openList(client, await startProxyProgram(name, service.base), service.key)
      for (const n of [1, 2, 3]) {
        await add(service, `animal ${n}`)
        await waitUntil(() => list.names.length === n) // a proxy that buffers waits for more than one event
      }
      list.stop()
      await waitUntil(async () => (await streamsOf(service)) === 0)
    },
  )

  test.skipIf(!installed)(`an idle stream outlives the timeout of the proxy${title}`, async ({ service }) => {
    const proxy = await startProxyProgram(name, service.base)
    const list = await openList(liveClients['graphql-sse'], proxy, service.key)
    await sleep(35_000)
    await add(service, 'one')
    await waitUntil(() => list.names.length)
    expect([await streamsOf(service), await streamsOf(service, CLOSED)]).toEqual([1, 0])
  })

  test.skipIf(!installed)(`a stream resumes after the timeout of the proxy${title}`, async ({ service }) => {
    const list = await openList(liveClients['graphql-sse'], await startProxyProgram(name, service.base, 1), service.key)
    for (const n of [1, 2, 3]) {
      await waitUntil(async () => (await streamsOf(service, CLOSED)) >= n)
      await add(service, `animal ${n}`)
      await waitUntil(() => list.names.length === n)
    }
    expect(list).toMatchObject({ names: ['animal 3', 'animal 2', 'animal 1'], errors: [] })
  })
})
