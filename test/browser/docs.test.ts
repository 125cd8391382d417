import type { Browser, Locator, Page } from 'playwright-core'
import { beforeAll, describe, expect } from 'vitest'
import { testWithService as base } from '../support/harness.ts'
import { chromiumPath, launch, whySkipped } from './browser.ts'

describe.skipIf(!chromiumPath)(`the API reference in a browser${whySkipped}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
    return () => browser.close()
  })

  const test = base.extend<{
    /** A new page without stored data. The test fails if it logs errors or warnings, throws, or uses another origin. */
    page: Page
  }>({
    // The page is closed before its service stops.
    page: async ({ service: _running }, use) => {
      const complaints: string[] = []
      const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
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
      expect(complaints).toEqual([])
    },
  })

  test('shows every operation, and which of them is deprecated', async ({ page, service }) => {
    await open(page, service.base)
    expect(await page.title()).toBe('Pet store API')
    const ids = await page.locator('.opblock').evaluateAll((all) => all.map((one) => one.id.split('-').at(-1)))
    expect(ids).toEqual(['listPets', 'createPet', 'getPet'])
    const struck = page.locator('.opblock-summary-path__deprecated')
    expect(await struck.allInnerTexts()).toEqual(['/pets/{petId}'])
    expect(await struck.evaluate((one) => getComputedStyle(one).textDecorationLine)).toBe('line-through')
    await openOperation(page, 'getPet')
    await operation(page, 'getPet').getByText('Warning: Deprecated').waitFor()
  })

  test('lists the servers, and sends requests only to its own', async ({ page, service }) => {
    const production = 'https://production.example/v1'
    const known = await service.startPeer({ environments: { production, staging: undefined } })
    await open(page, known.base)
    const servers = await page.locator('.servers').allInnerTexts()
    expect(servers).toEqual([expect.stringMatching(/^\/v1 – /), `${production} – Production`])
    await authorize(page, service.key)
    await openOperation(page, 'listPets')
    const answer = await execute(page, 'listPets')
    expect(answer.url).toContain(`${known.base}/v1/pets`)
  })

  test('listPets works with only the key filled in', async ({ page, service }) => {
    await service.post({ name: 'Rex', categoryId: 7 })
    await service.post({ name: 'Żółw 🐢', categoryId: 7, status: 'sold' })
    await open(page, service.base)
    await authorize(page, service.key)
    await openOperation(page, 'listPets')
    const { status, body } = await execute(page, 'listPets')
    expect(status).toBe('200')
    expect(JSON.parse(body)).toEqual([
      { id: 2, name: 'Żółw 🐢', categoryId: 7, status: 'sold' },
      { id: 1, name: 'Rex', categoryId: 7 },
    ])
  })

  test('createPet creates a new animal each time', async ({ page, service }) => {
    await open(page, service.base)
    await authorize(page, service.key)
    await openOperation(page, 'createPet')
    for (const id of [1, 2]) {
      const { status, body } = await execute(page, 'createPet')
      expect([status, JSON.parse(body)]).toEqual(['201', { id, name: 'Rex', categoryId: 7, status: 'available' }])
      expect(await (await service.send(`/v1/pets/${id}`)).json()).toEqual(JSON.parse(body))
    }
  })

  test('sends and shows an int64 without rounding', async ({ page, service }) => {
    await open(page, service.base)
    await authorize(page, service.key)
    await openOperation(page, 'createPet')
    const body = '{"name":"Rex","categoryId":9007199254740993}'
    await operation(page, 'createPet').getByRole('textbox').last().fill(body)
    const created = await execute(page, 'createPet')
    expect(created.body.replace(/\s/g, '')).toBe('{"id":1,"name":"Rex","categoryId":9007199254740993}')
    expect(await (await service.send('/v1/pets/1')).text()).toContain('"categoryId":9007199254740993')
  })

  test('keeps the key after a reload', async ({ page, service }) => {
    await open(page, service.base)
    await authorize(page, service.key)
    await page.reload()
    await openOperation(page, 'listPets')
    const { status, body } = await execute(page, 'listPets')
    expect([status, body]).toEqual(['200', '[]'])
  })

  test('is not wider than the screen of a phone, with any section open', async ({ page, service }) => {
    const overflow = () => page.evaluate('document.documentElement.scrollWidth - innerWidth')
    await page.setViewportSize({ width: 390, height: 844 })
    await open(page, service.base)
    expect(await overflow()).toBe(0)
    await authorize(page, service.key, async () => expect(await overflow()).toBe(0))
    for (const id of ['listPets', 'createPet', 'getPet']) {
      await openOperation(page, id)
      if (id === 'createPet') await operation(page, id).getByRole('textbox').last().fill('{"name":"T","categoryId":1}')
      if (id === 'getPet') await operation(page, id).getByPlaceholder('petId').fill('1')
      expect((await execute(page, id)).status).toMatch(/^20[01]$/)
      expect(await overflow(), id).toBe(0)
    }
    await page.locator('.models').getByRole('button', { name: 'Expand all' }).first().click()
    await page.locator('.models').getByText('Identifier, assigned by the service.').first().waitFor()
    expect(await overflow(), 'schemas').toBe(0)
  })
})

async function open(page: Page, address: string): Promise<void> {
  await page.goto(`${address}/docs`)
  await operation(page, 'getPet').waitFor()
}

function operation(page: Page, id: string): Locator {
  return page.locator(`#operations-pets-${id}`)
}

/** Opens the form of an operation. */
async function openOperation(page: Page, id: string): Promise<void> {
  await operation(page, id).locator('.opblock-summary-control').click()
  await operation(page, id).getByRole('button', { name: 'Execute' }).waitFor()
}

async function authorize(page: Page, key: string, meanwhile = async () => {}): Promise<void> {
  await page.getByRole('button', { name: 'Authorize', exact: true }).click()
  await page.getByLabel('auth-bearer-value').fill(key)
  await meanwhile()
  await page.getByRole('button', { name: 'Apply credentials' }).click()
  await page.locator('.auth-btn-wrapper').getByRole('button', { name: 'Close' }).click()
}

/** Executes an open operation. @returns the response as the page shows it, with the text of its body */
async function execute(page: Page, id: string): Promise<{ url: string; status: string; body: string }> {
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
