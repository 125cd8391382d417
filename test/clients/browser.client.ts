import { fileURLToPath } from 'node:url'
import { describe, expect, onTestFinished } from 'vitest'
import { createViteServer } from 'vitest/node'
import { chromiumPath, launch, whySkipped } from '../browser/browser.ts'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'
import { add, CLOSED, streamsOf } from './live-list.ts'

/** What the examples import, built before the first page: Vite would reload a page to build more. */
const PACKAGES = [
  ...['@apollo/client', '@apollo/client/link/retry', '@apollo/client/utilities', 'rxjs', 'graphql', 'graphql-sse'],
  ...['@urql/core', '@urql/exchange-graphcache', '@urql/exchange-graphcache/extras', '@urql/exchange-retry'],
]

/** Opens a page of another origin, from which the examples can be imported. @returns it and an instance that allows it */
async function openShop(service: TestService) {
  const server = await createViteServer({
    root: fileURLToPath(new URL('.', import.meta.url)),
    configFile: false,
    logLevel: 'error',
    optimizeDeps: { include: PACKAGES, noDiscovery: true },
    server: { port: 0, host: '127.0.0.1', hmr: false, watch: null },
  })
  await server.listen()
  const [shop = ''] = server.resolvedUrls?.local ?? []
  const peer = await service.startPeer({ CORS_ORIGINS: [new URL(shop).origin] })
  const browser = await launch()
  onTestFinished(async () => {
    await browser.close()
    await server.close()
  })
  const page = await browser.newPage()
  await page.goto(`${shop}package.json`) // any page of the origin
  return { page, peer }
}

describe.skipIf(!chromiumPath)(`in Chromium, on a page of another origin${whySkipped}`, () => {
  test.for(['apollo', 'urql'])('%s queries and mutates, and reads errors by code', async (name, { service }) => {
    const { page, peer } = await openShop(service)
    // Text, since Vitest would transform the import of a function.
    const results = await page.evaluate(`import('/examples/${name}.ts').then(async ({ createPetStore }) => {
      const url = '${peer.base}/graphql'
      const store = createPetStore(url, '${peer.key}')
      return [
        await store.addPet({ name: 'Rex', categoryId: '9223372036854775807' }),
        await store.findPet('1'),
        await store.findPet('404'),
        await store.addPet({ name: '', categoryId: 'x' }),
        await createPetStore(url, 'none').findPet('1'),
      ]
    })`)
    const rex = { id: '1', name: 'Rex', categoryId: '9223372036854775807' }
    expect(results).toMatchObject([
      { pet: rex },
      { pet: rex },
      { error: { code: 'NOT_FOUND' } },
      { error: { code: 'INVALID_ARGUMENT', fields: [{ path: ['input', 'name'] }, { path: ['input', 'categoryId'] }] } },
      { error: { code: 'UNAUTHENTICATED' } },
    ])
  })

  test.for(['graphql-sse', 'urql', 'apollo'])('%s shows a live list, also after a cut', async (name, { service }) => {
    const { page, peer } = await openShop(service)
    const proxy = await startTcpProxy(peer.base)
    onTestFinished(() => proxy.down())
    await add(service, 'first')
    await page.evaluate(`import('/examples/live-${name}.ts').then(({ watchPets }) => {
      const show = (pets) => { globalThis.names = pets.map(({ name }) => name) }
      watchPets('${new URL('/graphql', proxy.url).href}', '${peer.key}', show, (error) => { globalThis.names = [error] })
    })`)
    const shown = () => page.evaluate(() => (globalThis as { names?: unknown[] }).names) // set above
    await waitUntil(async () => (await streamsOf(peer)) === 1)
    await add(service, 'second')
    await waitUntil(async () => (await shown())?.length === 2)
    proxy.cut('rst')
    await waitUntil(async () => (await streamsOf(peer, CLOSED)) === 1)
    await add(service, 'third')
    await waitUntil(async () => (await shown())?.length === 3)
    expect(await shown()).toEqual(['third', 'second', 'first'])
  })
})
