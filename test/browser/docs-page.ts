import type { Locator, Page } from 'playwright-core'
import { paths } from '../rest/document.ts'

export const OPERATIONS = Object.values(paths).flatMap((item) => Object.values(item).map((one) => one.operationId))
export const PHONE = { width: 390, height: 844 }

export async function open(page: Page, address: string, fragment = ''): Promise<void> {
  await page.goto(`${address}/docs${fragment}`)
  await operation(page, 'getPet').waitFor()
}

export const operation = (page: Page, id: string): Locator => page.locator(`#operations-pets-${id}`)

export async function openOperation(page: Page, id: string): Promise<void> {
  await operation(page, id).locator('.opblock-summary-control').click()
  await resolved(page, id)
}

/** Waits until Swagger UI has resolved the references of an open operation, before which it cannot execute it. */
export async function resolved(page: Page, id: string): Promise<void> {
  await operation(page, id).getByRole('button', { name: 'Execute' }).waitFor()
  await operation(page, id).locator('.opblock-loading-animation').waitFor({ state: 'detached' })
}

export const keyField = (page: Page): Locator => page.getByRole('textbox', { name: 'API key' })

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
