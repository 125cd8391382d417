import type { Server } from 'node:http'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, onTestFinished } from 'vitest'
import { expectAccessible } from '../browser/accessibility.ts'
import { chromiumPath, launch, whySkipped } from '../browser/browser.ts'
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { AUDIENCE } from '../support/issuer.ts'
import { waitFor, waitUntil } from '../support/timeouts.ts'
import { fill } from './fill.ts'
import { startIssuer } from './issuer.ts'
import { add, streamsOf } from './live-list.ts'
import { buildShop, confirmAtIssuer, ORIGIN, serveShop, signInAtIssuer } from './shop.ts'

const TOKEN_SECONDS = 12 // the shop renews a token that has less than ten

describe.skipIf(!chromiumPath)(`docs/shop in Chromium${whySkipped}`, () => {
  let proxy: TcpProxy
  let browser: Browser
  let pages: Server
  let issuer: Awaited<ReturnType<typeof startIssuer>>

  /** The address of the service is part of the build: a proxy keeps it while services come and go. */
  beforeAll(async () => {
    proxy = await startTcpProxy('http://127.0.0.1')
    pages = await serveShop()
    issuer = await startIssuer(`${ORIGIN}/`, TOKEN_SECONDS)
    await buildShop({
      VITE_PET_STORE: new URL(proxy.url).origin,
      VITE_OIDC_ISSUER: issuer.url,
      VITE_OIDC_CLIENT: 'shop',
      VITE_OIDC_AUDIENCE: AUDIENCE,
    })
    browser = await launch()
  })
  afterAll(async () => {
    await browser?.close()
    pages?.close()
    issuer?.stop()
    await proxy?.down()
  })

  /** Starts an instance behind the proxy. @returns it and what replaces it by another one */
  async function startPeer(service: TestService) {
    let peer: TestService
    async function up() {
      peer = await service.startPeer({ CORS_ORIGINS: [ORIGIN], OIDC_ISSUER: issuer.url, OIDC_AUDIENCE: AUDIENCE })
      proxy.retarget(peer.base)
      await proxy.up()
    }
    async function down() {
      await peer.stop(0, 200) // streams end without `complete`
      await proxy.down()
    }
    await proxy.down()
    await up()
    onTestFinished(proxy.restore)
    return { up, down, streams: () => streamsOf(peer), log: () => JSON.stringify(peer.log.lines) }
  }

  async function open(colorScheme: 'light' | 'dark' = 'light') {
    const page = await browser.newPage({ colorScheme, viewport: { width: 390, height: 844 } })
    page.setDefaultTimeout(50_000) // less than the timeout of a test
    onTestFinished(() => page.close())
    await page.goto(ORIGIN)
    return page
  }

  async function signIn(page: Page, key: string) {
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Use this key' }).click()
  }

  const namesIn = (page: Page) => page.locator('li strong').allTextContents()
  const shows = (page: Page, names: string[]) => waitUntil(async () => `${await namesIn(page)}` === `${names}`)

  async function save(page: Page, name: string, categoryId: string) {
    await page.getByLabel('Name').fill(name)
    await page.getByRole('textbox', { name: 'Category' }).fill(categoryId)
    await page.getByRole('button', { name: 'Save' }).click()
  }

  test('shows the first page when the service is back', async ({ service }) => {
    const peer = await startPeer(service)
    await add(service, 'Rex')
    await peer.down()
    const page = await open()
    await signIn(page, service.key)
    await page.getByText('The shop cannot be reached just now.').waitFor()
    await expectAccessible(page)
    await peer.up()
    await shows(page, ['Rex'])
    expect(await page.getByRole('alert').allTextContents()).not.toContain(expect.stringContaining('reached'))
  })

  test('says that it loads, and then that there are no animals', async ({ service }) => {
    await startPeer(service)
    const page = await open()
    proxy.hold('responses')
    await signIn(page, service.key)
    await page.getByRole('status').getByText('Loading…').waitFor()
    await expectAccessible(page)
    proxy.restore()
    await page.getByRole('status').getByText('There are no animals yet.').waitFor()
  })

  test('shows what was added while the service was away', async ({ service }) => {
    const peer = await startPeer(service)
    const page = await open()
    await signIn(page, service.key)
    await waitUntil(async () => (await peer.streams()) === 1)
    await peer.down()
    await add(service, 'Rex')
    await peer.up()
    await shows(page, ['Rex'])
  })

  test('shows the next page when the service is back', async ({ service }) => {
    const names = await fill(service, 25)
    const peer = await startPeer(service)
    const page = await open()
    await signIn(page, service.key)
    await shows(page, names.slice(0, 20))
    await peer.down()
    await page.getByRole('button', { name: 'Show more' }).click()
    await peer.up()
    await shows(page, names)
  })

  test('adds an animal once although the first response is lost, and shows it', async ({ service }) => {
    const peer = await startPeer(service)
    const page = await open()
    await signIn(page, service.key)
    await page.getByText('There are no animals yet.').waitFor()
    await waitUntil(async () => (await peer.streams()) === 1)
    proxy.hold('responses')
    await save(page, 'Rex', '7')
    await waitFor(async () => expect(await (await service.send('/v1/pets')).text(), peer.log()).toContain('Rex'))
    await peer.down()
    proxy.restore()
    await peer.up()
    await page.getByText('Rex was added.').waitFor()
    await shows(page, ['Rex'])
    await save(page, 'Ada', '7')
    await shows(page, ['Ada', 'Rex'])
  })

  test('shows the animals of a category, and what is added to it', async ({ service }) => {
    await startPeer(service)
    const addTo = (categoryId: number, name: string) => service.post({ name, categoryId })
    await addTo(7, 'Rex')
    await addTo(8, 'Tom')
    await addTo(7, 'Ada')
    const page = await open()
    await signIn(page, service.key)
    await shows(page, ['Ada', 'Tom', 'Rex'])
    const filter = page.getByRole('group', { name: 'Filter' })
    await filter.getByLabel('Category').selectOption('7')
    await shows(page, ['Ada', 'Rex'])
    await addTo(8, 'Kit')
    await addTo(7, 'Ben')
    await shows(page, ['Ben', 'Ada', 'Rex'])
    await expectAccessible(page)
    await filter.getByLabel('Category').selectOption('all')
    await shows(page, ['Ben', 'Kit', 'Ada', 'Tom', 'Rex'])
    await filter.getByLabel('Status').selectOption('sold')
    await page.getByText('No animal matches the filter.').waitFor()
    await expectAccessible(page)
  })

  test('shows what is wrong beside its field, in words', async ({ service }) => {
    await startPeer(service)
    const page = await open()
    await signIn(page, service.key)
    await save(page, ' ', 'dogs')
    await page.getByText('Please enter a name').waitFor()
    const described = async (label: string) => {
      const id = await page.getByRole('textbox', { name: label }).getAttribute('aria-describedby')
      return page.locator(`#${id}`).textContent()
    }
    expect(await described('Name')).toBe('Please enter a name of 1 to 255 characters.')
    expect(await described('Category')).toBe('Please enter the number of a category, such as 7.')
    await save(page, 'Rex', '7')
    await shows(page, ['Rex'])
  })

  test('asks to sign in again when the key is not valid', async ({ service }) => {
    await startPeer(service)
    const page = await open()
    await signIn(page, 'none')
    await page.getByText('Please sign in again.').waitFor()
  })

  test('misses nothing when its stream goes on with the next access token', async ({ service }) => {
    await startPeer(service)
    const page = await open()
    const tokens = new Set<string | undefined>() // of streams
    page.on('request', (request) => {
      if (request.postData()?.includes('subscription')) tokens.add(request.headers()['authorization'])
    })
    await signInAtIssuer(page)
    await page.getByText('There are no animals yet.').waitFor()
    const names: string[] = []
    while (tokens.size < 2) {
      names.unshift(`animal ${names.length}`)
      await add(service, names[0] ?? '')
      await page.waitForTimeout(200)
    }
    await shows(page, names)
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage])')).toBe('[{},{}]')
  })

  test('asks to sign in again when the issuer no longer renews the token', async ({ service }) => {
    await startPeer(service)
    const page = await open()
    await signInAtIssuer(page)
    await page.getByText('There are no animals yet.').waitFor()
    await issuer.revoke()
    await page.getByText('Please sign in again.').waitFor()
    await expectAccessible(page)
    await signInAtIssuer(page)
    await page.getByText('There are no animals yet.').waitFor()
  })

  test('signs out, at the issuer too', async ({ service }) => {
    await startPeer(service)
    const page = await open()
    await signInAtIssuer(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('button', { name: 'Yes, sign me out' }).click()
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('[name=password]').waitFor()
  })

  const RETRY_SIGN_IN = 'You are not signed in. Please try again.'
  test.for([
    ['is cancelled', '**/none', (page: Page) => page.getByText('Cancel').click(), RETRY_SIGN_IN],
    ['gets no token', '**/token', confirmAtIssuer, RETRY_SIGN_IN],
    ['finds no issuer', '**/.well-known/*', () => {}, 'Sign-in is not possible just now. Please try again.'],
  ] as const)('says so when a sign-in %s', async ([, unreachable, go, message], { service }) => {
    await startPeer(service)
    const page = await open()
    await page.route(unreachable, (route) => route.abort())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await go(page)
    await page.getByText(message).waitFor()
    await expectAccessible(page)
    await page.unrouteAll()
    await signInAtIssuer(page)
    await page.getByText('There are no animals yet.').waitFor()
  })

  test.for(['light', 'dark'] as const)('is accessible in %s', async (scheme, { service }) => {
    await fill(service, 25)
    await startPeer(service)
    const page = await open(scheme)
    await expectAccessible(page)
    await signIn(page, service.key)
    await page.getByRole('button', { name: 'Show more' }).waitFor()
    await save(page, '', 'dogs')
    await page.getByText('Please enter a name').waitFor()
    await expectAccessible(page)
  })
})
