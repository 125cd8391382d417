import { describe, expect } from 'vitest'
import { expectAccessible } from './accessibility.ts'
import { chromiumPath, testInBrowser as test, whySkipped } from './browser.ts'
import { PHONE } from './docs-page.ts'

describe.skipIf(!chromiumPath)(`the home page${whySkipped}`, () => {
  test('has no violation of WCAG 2.2 A and AA that axe-core finds', async ({ page, service }) => {
    await page.setViewportSize(PHONE)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.goto(service.base)
      await expectAccessible(page)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width)
    }
  })
})
