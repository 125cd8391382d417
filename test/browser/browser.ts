import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { expect } from 'vitest'
import { testWithSharedService } from '../support/harness.ts'

const installed = [
  ...['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'],
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Path of Chromium. CHROMIUM_PATH is used unchecked, so a wrong path fails the tests instead of skipping them. */
export const chromiumPath = process.env.CHROMIUM_PATH || installed.find((path) => existsSync(path))

/** A suffix for the titles of browser tests: the reason if they are skipped. */
export const whySkipped = chromiumPath ? '' : ' (no Chromium here; CHROMIUM_PATH can name one)'

const executablePath = chromiumPath ?? ''

export const launch = (): Promise<Browser> => chromium.launch({ executablePath })

/**
 * A test with a page, and with a service and a profile of Chromium that all tests of the file share. Only with a profile
 * does Chromium keep compiled scripts: GraphiQL then loads with a third of the CPU time. The service is the same because
 * the cache of scripts belongs to an address. Each test starts without animals and without stored data.
 */
export const testInBrowser = testWithSharedService
  .extend<{ profile: BrowserContext }>({
    profile: [
      // Vitest parses the fixture's source text, and requires a destructuring pattern as first parameter.
      async ({}, use) => {
        const permissions = ['clipboard-read', 'clipboard-write']
        const options = { executablePath, permissions, viewport: { width: 1280, height: 900 } }
        const profile = await chromium.launchPersistentContext('', options) // in a temporary folder
        await use(profile)
        await profile.close()
      },
      { scope: 'file' },
    ],
  })
  .extend<{
    /** What the page must not do: log errors or warnings, throw, or send requests to other origins. */
    problems: string[]
    page: Page
  }>({
    problems: async ({}, use) => use([]),
    page: async ({ profile, service, problems }, use) => {
      await service.database.pool.query('TRUNCATE animal RESTART IDENTITY CASCADE')
      const page = await profile.newPage()
      await forget(page, service.base)
      observe(page, problems)
      await use(page)
      await page.close()
      // Chromium logs every 401 as an error, which is expected on a page without a key.
      expect(problems.filter((problem) => !problem.includes('status of 401'))).toEqual([])
    },
  })

/** Deletes what pages of an origin have stored, but no cache. */
async function forget(page: Page, origin: string): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Storage.clearDataForOrigin', { origin, storageTypes: 'cookies,local_storage,indexeddb' })
  await devtools.detach()
}

function observe(page: Page, problems: string[]): void {
  page.setDefaultTimeout(50_000) // less than the timeout of a test
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text())
  })
  page.on('request', (request) => {
    const { protocol, origin } = new URL(request.url())
    const isOwn = request.isNavigationRequest() || origin === new URL(page.url()).origin
    if (!isOwn && !/^(data|blob):$/.test(protocol)) problems.push(request.url())
  })
}
