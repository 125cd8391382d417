import { describe, expect } from 'vitest'
import { VERSION } from '../../src/project.ts'
import { cloneDatabase, dropDatabase, startService } from '../support/harness.ts'
import { hasCurl, runShell, whyNoCurl } from '../support/shell.ts'
import { expectAccessible } from './accessibility.ts'
import { chromiumPath, testInBrowser as test, whySkipped } from './browser.ts'
import { PHONE } from './docs-page.ts'

describe.skipIf(!chromiumPath)(`the home page${whySkipped}`, () => {
  test('has no violation of WCAG 2.2 A and AA that axe-core finds', async ({ page, service }) => {
    await page.setViewportSize(PHONE)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.goto(service.base)
      await page.getByText(`Version ${VERSION}: ready`).waitFor()
      await expectAccessible(page)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
    }
  })

  test('says why the service is not ready', async ({ page, problems }) => {
    const databaseUrl = await cloneDatabase()
    const { base } = await startService(databaseUrl)
    await dropDatabase(databaseUrl)
    await page.goto(base)
    await page.getByText(`Version ${VERSION}: not ready: The database`).waitFor()
    expect(problems.splice(0).join()).toContain('status of 503')
  })

  test.skipIf(!hasCurl)(`its curl commands list, create and query animals${whyNoCurl}`, async ({ page, service }) => {
    await page.goto(service.base)
    await page.getByText(': ready').waitFor()
    const commands = await page.locator('pre').allInnerTexts()
    const responses = await runShell([`KEY=${service.key}`, ...commands].join('\n'))
    const pet = { name: 'Rex', status: 'available' }
    expect(responses).toMatchObject([[], pet, { data: { pets: { nodes: [pet] } } }])
  })
})
