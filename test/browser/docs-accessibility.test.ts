import type { Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { expectAccessible, tabTo } from './accessibility.ts'
import { chromiumPath, testInBrowser as test, whySkipped } from './browser.ts'
import {
  authorize,
  execute,
  keyField,
  open,
  openOperation,
  operation,
  OPERATIONS,
  PHONE,
  resolved,
} from './docs-page.ts'

/** Transitions begin with the next frame. */
const FINISH_TRANSITIONS = `(async () => {
  for (let frames = 0; frames < 2; frames++) await new Promise((next) => requestAnimationFrame(next))
  await Promise.allSettled(document.getAnimations().map(({ finished }) => finished))
})()`

/** Colours follow the system and the layout follows the width, both without a reload. */
async function expectAccessibleInAllVariants(page: Page): Promise<void> {
  for (const viewport of [{ width: 1280, height: 900 }, PHONE]) {
    await page.setViewportSize(viewport)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      await page.evaluate(FINISH_TRANSITIONS)
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0)
      await expectAccessible(page)
    }
  }
}

describe.skipIf(!chromiumPath)(`the API reference for everyone${whySkipped}`, () => {
  test('has no violation of WCAG that axe-core finds: light, dark, on a phone', async ({ page, service }) => {
    for (const name of ['Rex', 'Tom', 'Żółw', 'Ziggy', 'Biscuit']) await service.post({ name, categoryId: 7 }) // scrolls
    await open(page, service.base)
    await expectAccessibleInAllVariants(page)
    await authorize(page, service.key)
    for (const id of OPERATIONS) {
      await openOperation(page, id)
      if (id === 'getPet') await operation(page, id).getByPlaceholder('petId').fill('1')
      expect(await execute(page, id)).toMatchObject({ status: expect.stringMatching(/^20[01]$/) })
      await expectAccessibleInAllVariants(page)
      await operation(page, id).locator('.opblock-summary-control').click()
    }
    await page.getByRole('button', { name: 'Schemas' }).click()
    for (const button of await page.locator('.json-schema-2020-12-expand-deep-button').all()) await button.click()
    await expectAccessibleInAllVariants(page)
  })

  test('with Tab and Enter alone, one can fill in the key and execute an operation', async ({ page, service }) => {
    await open(page, service.base)
    await tabTo(page, keyField(page))
    await page.keyboard.type(service.key)
    await tabTo(page, operation(page, 'listPets').locator('.opblock-summary-control'))
    await page.keyboard.press('Enter')
    await resolved(page, 'listPets')
    const answered = page.waitForResponse((response) => response.url().includes('/v1/pets'))
    await tabTo(page, operation(page, 'listPets').getByRole('button', { name: 'Execute' }))
    await page.keyboard.press('Enter')
    expect((await answered).status()).toBe(200)
    await operation(page, 'listPets').locator('.live-responses-table').waitFor()
  })
})
