import type { Browser, Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { testWithService } from '../support/harness.ts'
import { launch } from './browser.ts'

export const OPERATIONS = ['listPets', 'createPet', 'getPet']
export const PHONE = { width: 390, height: 844 }

export const test = testWithService
  .extend<{ browser: Browser }>({
    browser: [
      // Vitest parses the fixture's source text, and requires a destructuring pattern as first parameter.
      // oxlint-disable-next-line no-empty-pattern
      async ({}, use) => {
        const browser = await launch()
        await use(browser)
        await browser.close()
      },
      { scope: 'file' },
    ],
  })
  .extend<{
    /** A new page without stored data. The test fails if it logs errors or warnings, throws, or uses another origin. */
    page: Page
  }>({
    // The page is closed before its service stops.
    page: async ({ browser, service: _running }, use) => {
      const complaints: string[] = []
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
      page.setDefaultTimeout(150_000) // machines may be slow
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
      })
      page.on('request', (request) => {
        const { protocol, origin } = new URL(request.url())
        const own = request.isNavigationRequest() || origin === new URL(page.url()).origin
        if (protocol !== 'data:' && !own) complaints.push(request.url())
      })
      await use(page)
      await page.context().close()
      // Chromium logs every 401 as an error, which is expected without a key.
      expect(complaints.filter((complaint) => !complaint.includes('status of 401'))).toEqual([])
    },
  })

export async function open(page: Page, address: string, fragment = ''): Promise<void> {
  await page.goto(`${address}/docs${fragment}`)
  await operation(page, 'getPet').waitFor()
}

export function operation(page: Page, id: string): Locator {
  return page.locator(`#operations-pets-${id}`)
}

/** Opens the form of an operation. */
export async function openOperation(page: Page, id: string): Promise<void> {
  await operation(page, id).locator('.opblock-summary-control').click()
  await operation(page, id).getByRole('button', { name: 'Execute' }).waitFor()
}

export function keyField(page: Page): Locator {
  return page.getByRole('textbox', { name: 'API key' })
}

export async function authorize(page: Page, key: string): Promise<void> {
  await keyField(page).fill(key)
  await keyField(page).press('Enter')
}

/** Executes an open operation. @returns the response as the page shows it, with the text of its body */
export async function execute(page: Page, id: string): Promise<{ url: string; status: string; body: string }> {
  const area = operation(page, id)
  const answered = page.waitForResponse((response) => response.url().includes('/v1/'))
  await area.getByRole('button', { name: 'Execute' }).click()
  const response = await answered
  const shown = area.locator('.live-responses-table')
  await shown.getByText(`x-request-id: ${await response.headerValue('x-request-id')}`).waitFor()
  return {
    url: await area.locator('.request-url .microlight').innerText(),
    status: (await shown.locator('tbody .response-col_status').innerText()).trim(),
    body: await shown.locator('.highlight-code code').innerText(),
  }
}
