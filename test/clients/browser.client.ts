import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { createViteServer } from 'vitest/node'
import { chromiumPath, launch, whySkipped } from '../browser/browser.ts'
import { testWithService as test } from '../support/harness.ts'

/** What the examples import, built before the first page: Vite would reload a page to build more. */
const PACKAGES = [
  ...['@apollo/client', '@apollo/client/link/retry', '@apollo/client/utilities', 'rxjs'],
  ...['@urql/core', '@urql/exchange-graphcache', '@urql/exchange-graphcache/extras', '@urql/exchange-retry'],
]

describe.skipIf(!chromiumPath)(`in Chromium, on a page of another origin${whySkipped}`, () => {
  test.for(['apollo', 'urql'])('%s queries and mutates, and reads errors by code', async (name, { service }) => {
    const server = await createViteServer({
      root: fileURLToPath(new URL('.', import.meta.url)),
      configFile: false,
      logLevel: 'error',
      optimizeDeps: { include: PACKAGES, noDiscovery: true },
      server: { port: 0, host: '127.0.0.1', hmr: false, watch: null },
    })
    await server.listen()
    const [shop = ''] = server.resolvedUrls?.local ?? []
    const { base, key } = await service.startPeer({ corsOrigins: [new URL(shop).origin] })
    const browser = await launch()
    const page = await browser.newPage()
    await page.goto(`${shop}package.json`) // any page of the origin
    // Text, since Vitest would transform the import of a function.
    const results = await page.evaluate(`import('/examples/${name}.ts').then(async ({ createPetStore }) => {
      const url = '${base}/graphql'
      const store = createPetStore(url, '${key}')
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
    await browser.close()
    await server.close()
  })
})
