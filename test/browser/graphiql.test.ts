import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect } from 'vitest'
import { schema } from '../../src/graphql/schema/index.ts'
import { testWithService as base } from '../support/harness.ts'
import { chromiumPath, launch, whySkipped } from './browser.ts'

describe.skipIf(!chromiumPath)(`GraphiQL in a browser${whySkipped}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
    return () => browser.close()
  })

  const test = base.extend<{
    /** What no page may do: log an error or a warning, throw, or ask an origin that is not ours. */
    complaints: string[]
    /** A page that has seen nothing yet. It is closed before the service that it may be open on. */
    page: Page
    /** The link that `npm start` prints, with the test's key. */
    link: string
  }>({
    // Vitest reads a fixture's first parameter and wants a pattern there.
    // oxlint-disable-next-line no-empty-pattern
    complaints: async ({}, use) => use([]),
    page: async ({ service, complaints }, use) => {
      const page = await browser.newPage({ permissions: ['clipboard-read', 'clipboard-write'] })
      page.on('pageerror', (error) => complaints.push(error.message))
      page.on('console', (message) => {
        if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
      })
      page.on('request', (request) => {
        const { protocol, origin } = new URL(request.url())
        if (!/^(data|blob):$/.test(protocol) && origin !== service.base) complaints.push(origin)
      })
      await use(page)
      await page.context().close()
      // Chromium logs every 401 as an error. A page without a key gets some.
      expect(complaints.filter((complaint) => !complaint.includes('status of 401'))).toEqual([])
    },
    link: async ({ service }, use) => use(`${service.base}/graphql#key=${service.key}`),
  })

  test('works without an error and from the service alone: its policy lets no script ask another origin', async ({
    page,
    service,
    link,
    complaints,
  }) => {
    await open(page, link)
    expect(await page.title()).toBe('Pet store GraphiQL')
    await run(page, '{ pets { nodes { id } } }')
    await expectResult(page).toEqual({ data: { pets: { nodes: [] } } })
    await page.getByRole('button', { name: 'Prettify query' }).click()
    await editor(page, 'Operation Editor').locator('.view-line').nth(6).waitFor()
    expect(complaints).toEqual([])
    const elsewhere = page.evaluate(`fetch('http://localhost:${service.port}/livez', { mode: 'no-cors' })`)
    await expect(elsewhere).rejects.toThrow('Failed to fetch')
    expect(complaints.splice(0).join()).toContain('Content Security Policy')
  })

  test('sends the key of its field from every tab whose headers have no other, and says so when there is none', async ({
    page,
    service,
  }) => {
    await service.post({ name: 'Rex', categoryId: 1 })
    await open(page, `${service.base}/graphql`)
    await page.getByRole('button', { name: 'Execute query' }).click()
    await expectResult(page).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    await enterKey(page, ` ${service.key} `)
    await run(page, 'query Here { pets(first: 3) { nodes { id name } } }')
    await expectResult(page).toEqual({ data: { pets: { nodes: [{ id: '1', name: 'Rex' }] } } })
    await page.getByRole('button', { name: 'New tab' }).click()
    await run(page, 'query There { pet(id: "1") { name } }')
    await expectResult(page).toEqual({ data: { pet: { name: 'Rex' } } })
    await page.getByRole('button', { name: 'Headers', exact: true }).click()
    await fill(page, 'Headers', '{ "authorization": "Bearer another" }')
    await page.getByRole('button', { name: 'Execute query' }).click()
    await expectResult(page).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
  })

  test('has an example of every field, and each runs on a store that has animals', async ({ page, service, link }) => {
    await service.post({ name: 'Rex', categoryId: 1 })
    await open(page, link)
    const answered: string[] = []
    for (const name of examples) {
      await page.getByRole('tab', { name }).click()
      // Where GraphiQL notes the query once it has understood it.
      await page.waitForURL((url) => !!url.searchParams.get('query')?.includes(` ${name}`))
      await page.getByRole('button', { name: 'Execute query' }).click()
      await expectResult(page).toEqual({ data: expect.anything() })
      answered.push(...Object.keys((JSON.parse(await text(page, 'Result Window')) as { data: object }).data))
    }
    expect(await page.getByRole('tab').count()).toBe(examples.length)
    const fields = { ...schema.getQueryType()?.getFields(), ...schema.getMutationType()?.getFields() }
    expect(answered).toEqual(expect.arrayContaining(Object.keys(fields)))
  })

  test('creates an animal that REST then has', async ({ page, service, link }) => {
    await open(page, link)
    await run(page, 'mutation Turtle { createPet(input: { name: "Żółw 🐢", categoryId: "7", status: sold }) { id } }')
    await expectResult(page).toEqual({ data: { createPet: { id: '1' } } })
    const response = await service.send('/v1/pets/1')
    expect(await response.json()).toEqual({ id: 1, name: 'Żółw 🐢', categoryId: 7, status: 'sold' })
  })

  test('shows an error with its code, and fits a phone: results are below the query, nothing is off the screen', async ({
    page,
    link,
  }) => {
    await page.setViewportSize({ width: 390, height: 844 })
    await open(page, link)
    await run(page, '{ pet(id: "999") { id } }')
    await expectResult(page).toMatchObject({
      data: { pet: null },
      errors: [{ path: ['pet'], extensions: { code: 'NOT_FOUND', status: 404 } }],
    })
    for (const part of [keyField(page), editor(page, 'Operation Editor'), editor(page, 'Result Window')]) {
      const { x, width } = (await part.boundingBox()) ?? { x: NaN, width: NaN }
      expect(width).toBeGreaterThan(150)
      expect(x + width).toBeLessThan(390)
    }
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  })

  test('keeps the key, the tabs and the query over a reload; a key that is removed is forgotten', async ({
    page,
    service,
    link,
  }) => {
    const typed = await service.keys.issue('typed')
    await open(page, link)
    await enterKey(page, typed)
    await page.reload()
    await fill(page, 'Operation Editor', 'query Mine { pets { nodes { id } } }')
    // GraphiQL stores what stands still for half a second.
    await expect.poll(() => page.evaluate('localStorage["graphiql:tabState"]'), patience).toContain('Mine {')
    await page.reload()
    await ready(page)
    expect(await keyField(page).inputValue()).toBe(typed)
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Mine', ...examples.slice(1)])
    await page.getByRole('button', { name: 'Execute query' }).click()
    await expectResult(page).toEqual({ data: { pets: { nodes: [] } } })
    await enterKey(page, '')
    await page.reload()
    expect(await keyField(page).inputValue()).toBe('')
    expect(await page.evaluate('Object.values(localStorage).join()')).not.toMatch(/pets_/)
  })

  test('takes the key from the fragment of the link, out of the address bar, and keeps it', async ({
    page,
    service,
    link,
  }) => {
    await open(page, link)
    expect(await keyField(page).inputValue()).toBe(service.key)
    await run(page, '{ pets { nodes { id } } }')
    await expectResult(page).toEqual({ data: { pets: { nodes: [] } } })
    expect(page.url()).not.toContain('#')
    await open(page, `${service.base}/graphql`)
    expect(await keyField(page).inputValue()).toBe(service.key)
  })

  test('takes the key of a link that is pasted while the page is open, and asks for the schema with it', async ({
    page,
    service,
  }) => {
    await open(page, `${service.base}/graphql`)
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    await page.getByText('Error fetching schema').waitFor()
    await page.evaluate(`location.assign('#key=${service.key}')`)
    await page.getByRole('link', { name: 'Mutation', exact: true }).waitFor()
    expect(await keyField(page).inputValue()).toBe(service.key)
    await run(page, '{ pets { nodes { id } } }')
    await expectResult(page).toEqual({ data: { pets: { nodes: [] } } })
    expect(page.url()).not.toContain('#')
  })

  test('ignores every other fragment: it is neither stored nor part of the page', async ({ page, service, link }) => {
    const fragments = [
      '#key=',
      '#key=x',
      '#key=pets_a b',
      '#key=pets_a&more',
      '#other&key=pets_a',
      '#key=pets_<img src=x onerror=alert(1)>',
      '#key=pets_%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E',
    ]
    await open(page, link)
    for (const fragment of fragments) {
      await page.evaluate(`new Promise((resolve) => {
        addEventListener('hashchange', resolve, { once: true })
        location.hash = ${JSON.stringify(fragment)}
      })`)
      expect(await keyField(page).inputValue(), fragment).toBe(service.key)
      expect(await page.evaluate('localStorage["pet-store:key"]'), fragment).toBe(service.key)
    }
    await page.reload() // with the last fragment
    await ready(page)
    expect(await keyField(page).inputValue()).toBe(service.key)
    expect(await page.locator('img').count()).toBe(0)
  })

  test('begins with the key of the link and the examples, whatever another service left in the browser', async ({
    page,
    service,
    link,
  }) => {
    const headers = '{ "Authorization": "Bearer old" }'
    const tab = {
      id: '1',
      title: 'Old',
      query: '{ old }',
      variables: null,
      headers,
      operationName: null,
      response: null,
    }
    const left = { headers, query: tab.query, tabState: JSON.stringify({ activeTabIndex: 0, tabs: [tab] }) }
    await page.addInitScript(`
      for (const [name, value] of Object.entries(${JSON.stringify(left)})) localStorage.setItem('graphiql:' + name, value)
    `)
    await open(page, link)
    expect(await keyField(page).inputValue()).toBe(service.key)
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(examples)
    await page.getByRole('button', { name: 'Execute query' }).click()
    await expectResult(page).toMatchObject({ data: { pets: { nodes: [] } } })
  })

  test('documents the schema, and marks what is not in it, once there is a key', async ({ page, service }) => {
    await open(page, `${service.base}/graphql`)
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    await page.getByText('Error fetching schema').waitFor()
    await enterKey(page, service.key)
    await page.getByRole('link', { name: 'Mutation', exact: true }).click()
    await page.getByText('Adds an animal and returns it').waitFor()
    await fill(page, 'Operation Editor', '{ pets { nodes { colour } } }')
    await editor(page, 'Operation Editor').locator('.squiggly-error').waitFor()
  })
})

/** The titles of the tabs that a newcomer sees. */
const examples = ['Animals', 'NextPage', 'OneAnimal', 'AddAnimal', 'Count']

const patience = { timeout: 10_000 }

async function open(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await ready(page)
}

/** Waits until GraphiQL can be used. */
async function ready(page: Page): Promise<void> {
  await editor(page, 'Operation Editor').locator('.view-line').first().waitFor()
}

type Name = 'Operation Editor' | 'Headers' | 'Result Window'

/** The field above GraphiQL. */
function keyField(page: Page) {
  return page.getByRole('textbox', { name: 'API key' })
}

async function enterKey(page: Page, key: string): Promise<void> {
  await keyField(page).fill(key)
  await keyField(page).press('Enter')
}

/** One of the page's Monaco editors. The section for headers holds the one for variables too, before it and hidden. */
function editor(page: Page, name: Name) {
  return page.getByRole('region', { name }).locator('.monaco-editor').last()
}

/** Pastes over all that an editor holds: what is typed, Monaco completes with brackets of its own. */
async function fill(page: Page, name: Name, text: string): Promise<void> {
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
  await editor(page, name).click()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.press('ControlOrMeta+V')
}

/** What an editor shows, with its white space made plain. Monaco keeps the lines in any order, so they are sorted. */
async function text(page: Page, name: Name): Promise<string> {
  const lines = await editor(page, name)
    .locator('.view-line')
    .evaluateAll((all) => all.map((line) => ({ top: parseInt(line.style.top, 10), text: line.textContent ?? '' })))
  lines.sort((a, b) => a.top - b.top)
  return lines
    .map((line) => line.text)
    .join(' ')
    .replace(/\s+/g, ' ')
}

/** Expects of what the result window shows, sooner or later. */
function expectResult(page: Page) {
  return expect.poll(async () => {
    const shown = await text(page, 'Result Window')
    return shown.startsWith('{') && shown.endsWith('}') ? JSON.parse(shown) : shown
  }, patience)
}

/** Runs a query as soon as the page has understood it, which the title of its tab shows. */
async function run(page: Page, query: string): Promise<void> {
  await fill(page, 'Operation Editor', query)
  await page.getByRole('tab', { name: /^\w+ (\w+)/.exec(query)?.[1] ?? '<untitled>' }).waitFor()
  await page.getByRole('button', { name: 'Execute query' }).click()
}
