import { describe, expect } from 'vitest'
import { hasCurl, runShell, whyNoCurl } from '../support/shell.ts'
import { chromiumPath, testInBrowser as test, whySkipped } from './browser.ts'
import { authorize, execute, open, openOperation, operation, OPERATIONS } from './docs-page.ts'

describe.skipIf(!chromiumPath)(`the API reference in a browser${whySkipped}`, () => {
  test('lists the servers, and sends requests only to its own', async ({ page, service }) => {
    const production = 'https://production.example/v1'
    const known = await service.startPeer({ PRODUCTION_URL: production })
    await open(page, known.base)
    const servers = await page.locator('.servers').allInnerTexts()
    expect(servers).toEqual([expect.stringMatching(/^v1 – /), `${production} – Production`])
    await authorize(page, service.key)
    await openOperation(page, 'listPets')
    const answer = await execute(page, 'listPets')
    expect(answer.url).toContain(`${known.base}/v1/pets`)
  })

  test('createPet creates a new animal each time, and shows an int64 without rounding', async ({ page, service }) => {
    await open(page, service.base)
    await authorize(page, service.key)
    await openOperation(page, 'createPet')
    const { status, body } = await execute(page, 'createPet')
    expect([status, JSON.parse(body)]).toEqual(['201', { id: 1, name: 'Rex', categoryId: 7, status: 'available' }])
    const large = '{"name":"Rex","categoryId":9007199254740993}'
    await operation(page, 'createPet').getByRole('textbox').last().fill(large)
    const created = await execute(page, 'createPet')
    expect(created.body.replace(/\s/g, '')).toBe('{"id":2,"name":"Rex","categoryId":9007199254740993}')
    expect(await (await service.send('/v1/pets/2')).text()).toContain('"categoryId":9007199254740993')
  })

  test('folds the errors of each open operation', async ({ page, service }) => {
    await open(page, service.base, `#key=${service.key}`)
    for (const id of OPERATIONS) {
      await openOperation(page, id)
      const row = operation(page, id).locator('[data-code="401"]')
      expect(await row.isVisible()).toBe(false)
      await operation(page, id).getByText('Errors: 400, 401, ').click()
      await row.getByText('"UNAUTHENTICATED"').waitFor()
      await operation(page, id).locator('.opblock-summary-control').click()
    }
  })

  test.skipIf(!hasCurl)(
    `copies a curl command of what is filled in, first with $KEY, then with the key${whyNoCurl}`,
    async ({ page, service }) => {
      await open(page, service.base)
      await openOperation(page, 'createPet')
      const area = operation(page, 'createPet')
      const copied = async () => {
        await area.getByRole('button', { name: 'Copy cURL command to clipboard' }).click()
        return page.evaluate(() => navigator.clipboard.readText())
      }
      const name = `D'Arc "$KEY"`
      const body = JSON.stringify({ name, categoryId: 7 })
      await area.getByRole('textbox').last().fill(body)
      expect(await runShell(`KEY=${service.key}; ${await copied()}`)).toEqual([{ id: 1, name, categoryId: 7 }])
      await authorize(page, service.key)
      expect(await runShell(await copied())).toEqual([{ id: 2, name, categoryId: 7 }])
    },
  )

  test('works with the key of GraphiQL, and changes and removes the key of both', async ({ page, service }) => {
    await page.goto(`${service.base}/graphql#key=${service.key}`)
    await open(page, service.base)
    await openOperation(page, 'listPets')
    expect(await execute(page, 'listPets')).toMatchObject({ status: '200', body: '[]' })
    const stored = () => page.evaluate('localStorage.getItem("graphiql:pet-store:key")')
    await authorize(page, ' pets_other ')
    expect(await stored()).toBe('pets_other')
    await authorize(page, '')
    expect(await stored()).toBeNull()
    expect(await execute(page, 'listPets')).toMatchObject({ status: '401' })
  })
})
