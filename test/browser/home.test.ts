import { describe, expect } from 'vitest'
import { testWithSharedService as test } from '../support/harness.ts'
import { expectAccessible } from './accessibility.ts'
import { chromiumPath, launch, whySkipped } from './browser.ts'

describe.skipIf(!chromiumPath)(`the home page${whySkipped}`, () => {
  test('has no violation of WCAG 2.2 A and AA that axe-core finds, and leads to GraphiQL', async ({ service }) => {
    const browser = await launch()
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await browser.newPage({ colorScheme, viewport: { width: 390, height: 844 } })
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      await page.goto(service.base)
      await expectAccessible(page)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
      expect(complaints).toEqual([])
      await page.getByRole('link', { name: 'GraphiQL' }).click()
      await page.waitForURL(`${service.base}/graphql`)
      await page.context().close()
    }
    await browser.close()
  })
})
