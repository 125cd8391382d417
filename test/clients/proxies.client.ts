import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished } from 'vitest'
import type { TestService } from '../support/harness.ts'
import { proxyPrograms, startProxyProgram } from '../support/proxies.ts'
import { waitUntil } from '../support/timeouts.ts'
import { add, CLOSED, liveClients, openList, streamsOf, test } from './live-list.ts'

for (const { name, installed } of proxyPrograms)
  if (!installed) console.warn(`No tests behind ${name}: it is not installed (apt-get install ${name}).`)

describe.for(proxyPrograms)('behind $name', ({ name, installed }) => {
  /** @returns the base URL of the proxy in front of a service */
  const startProxy = async ({ port }: TestService, timeoutSeconds = 30) =>
    `http://127.0.0.1:${(await startProxyProgram(onTestFinished, name, [port], timeoutSeconds)).port}`
  const title = installed ? '' : ` (SKIPPED: ${name} is not installed)`

  test.skipIf(!installed).for(Object.entries(liveClients))(
    `%s receives events at once, and closes its stream${title}`,
    async ([, client], { service }) => {
      const list = openList(client, await startProxy(service), service.key)
      for (const n of [1, 2, 3]) {
        await add(service, `animal ${n}`)
        await waitUntil(() => list.names.length === n) // a proxy that buffers waits for more than one event
      }
      list.stop()
      await waitUntil(async () => (await streamsOf(service)) === 0)
    },
  )

  test.skipIf(!installed)(`an idle stream outlives the timeout of the proxy${title}`, async ({ service }) => {
    const proxy = await startProxy(service)
    const list = openList(liveClients['graphql-sse'], proxy, service.key)
    await sleep(35_000)
    await add(service, 'one')
    await waitUntil(() => list.names.length)
    expect([await streamsOf(service), await streamsOf(service, CLOSED)]).toEqual([1, 0])
  })

  test.skipIf(!installed)(`a stream resumes after the timeout of the proxy${title}`, async ({ service }) => {
    const list = openList(liveClients['graphql-sse'], await startProxy(service, 1), service.key)
    for (const n of [1, 2, 3]) {
      await waitUntil(async () => (await streamsOf(service, CLOSED)) >= n)
      await add(service, `animal ${n}`)
      await waitUntil(() => list.names.length === n)
    }
    expect(list).toMatchObject({ names: ['animal 3', 'animal 2', 'animal 1'], errors: [] })
  })
})
