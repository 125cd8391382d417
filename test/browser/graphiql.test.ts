import { devices, type Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { schema } from '../support/schema.ts'
import { expectAccessible, tabTo } from './accessibility.ts'
import { chromiumPath, launch, testInBrowser, whySkipped } from './browser.ts'
import { authorize, keyField } from './docs-page.ts'

const test = testInBrowser.extend<{
  /** The link that `npm start` prints, with the key of the test. */
  link: string
}>({ link: async ({ service }, use) => use(`${service.base}/graphql#key=${service.key}`) })

describe.skipIf(!chromiumPath)(`GraphiQL in a browser${whySkipped}`, () => {
  test('works without errors, and blocks requests to other origins', async ({ page, service, link, problems }) => {
    await open(page, link)
    await fill(page, 'Operation Editor', '{ pets { nodes { id } } }')
    await page.getByRole('button', { name: 'Prettify query' }).click()
    await editor(page, 'Operation Editor').locator('.view-line').nth(6).waitFor()
    expect(problems).toEqual([])
    const elsewhere = page.evaluate(`fetch('http://localhost:${service.port}/livez', { mode: 'no-cors' })`)
    await expect(elsewhere).rejects.toThrow('Failed to fetch')
    expect(problems.splice(0).join()).toContain('Content Security Policy')
  })

  test('sends the key of its field from every tab, and reports a missing key', async ({ page, service }) => {
    await service.post({ name: 'Rex', categoryId: 1 })
    await open(page, `${service.base}/graphql`)
    await page.getByRole('button', { name: 'Execute query' }).click()
    await expectResult(page).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    await authorize(page, ` ${service.key} `)
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

  test('has an example of every field, and each example succeeds', async ({ page, service, link }) => {
    await service.post({ name: 'Rex', categoryId: 1 })
    await open(page, link)
    const answered: string[] = []
    for (const name of examples) {
      await page.getByRole('tab', { name }).click()
      // GraphiQL stores the query there after it has parsed it.
      await page.waitForURL((url) => !!url.searchParams.get('query')?.includes(` ${name}`))
      const response = page.waitForResponse(`${service.base}/graphql`)
      await page.getByRole('button', { name: 'Execute query' }).click()
      await response
      if (name === 'JustAdded') await service.post({ name: 'new', categoryId: 1 })
      await expectResult(page).toEqual({ data: expect.anything() })
      answered.push(...Object.keys((JSON.parse(await text(page, 'Result Window')) as { data: object }).data))
    }
    expect(await page.getByRole('tab').count()).toBe(examples.length)
    const roots = [schema.getQueryType(), schema.getMutationType(), schema.getSubscriptionType()]
    const fields = roots.flatMap((root) => Object.keys(root?.getFields() ?? {}))
    expect(answered).toEqual(expect.arrayContaining(fields))
  })

  test('keeps the key, the tabs and the query, and deletes a key that is removed', async ({ page, service, link }) => {
    const typed = await service.keys.issue('typed')
    await open(page, link)
    await authorize(page, typed)
    await page.reload()
    await fill(page, 'Operation Editor', 'query Mine { pets { nodes { id } } }')
    // GraphiQL stores a text half a second after the last change.
    await expect.poll(() => page.evaluate('localStorage["graphiql:tabState"]'), patience).toContain('Mine {')
    await page.reload()
    await ready(page)
    expect(await keyField(page).inputValue()).toBe(typed)
    expect(await page.getByRole('tab').allInnerTexts()).toEqual(['Mine', ...examples.slice(1)])
    await page.getByRole('button', { name: 'Execute query' }).click()
    await expectResult(page).toEqual({ data: { pets: { nodes: [] } } })
    await authorize(page, '')
    await page.reload()
    expect(await keyField(page).inputValue()).toBe('')
    expect(await page.evaluate('Object.values(localStorage).join()')).not.toMatch(/pets_/)
  })

  test('has no violation of WCAG 2.2 A and AA that axe-core finds but in its tabs', async ({ page, link }) => {
    await open(page, link)
    await page.getByRole('button', { name: 'Execute query' }).click()
    await expectResult(page).toMatchObject({ data: { pets: {} } })
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    await page.getByRole('link', { name: 'Mutation', exact: true }).waitFor()
    await expectAccessible(page, NESTED_TABS)
    await page.emulateMedia({ colorScheme: 'dark' })
    await page.reload()
    await page.locator('.monaco-editor.vs-dark').first().waitFor()
    await page.getByRole('link', { name: 'Mutation', exact: true }).waitFor()
    await expectAccessible(page, NESTED_TABS)
  })

  test('has none on an iPhone either, where nothing is off the screen or covers the text', async ({ link }) => {
    const browser = await launch()
    const page = await browser.newPage(devices['iPhone 13'])
    await open(page, link)
    await expectAccessible(page, NESTED_TABS)
    expect(await page.locator('.iPadShowKeyboard').first().isVisible()).toBe(false)
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    for (const part of [keyField(page), editor(page, 'Operation Editor'), editor(page, 'Result Window')]) {
      const { x, width } = (await part.boundingBox()) ?? { x: NaN, width: NaN }
      expect(width).toBeGreaterThan(210)
      expect(x + width).toBeLessThan(390)
    }
    const lines = editor(page, 'Operation Editor').locator('.view-line')
    for (const text of ['query', 'nodes']) await lines.getByText(text).first().click({ trial: true }) // nothing covers it
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    await expectAccessible(page, NESTED_TABS)
    await browser.close()
  })

  test('with Tab and Enter, links lead to all pages, with the key in no address', async ({ page, link }) => {
    await open(page, link)
    for (const [name, path] of [
      ['REST API reference', '/docs'],
      ['GraphiQL', '/graphql'],
      ['Pet store', '/'],
      ['REST API reference', '/docs'],
      ['Pet store', '/'],
      ['GraphiQL', '/graphql'],
    ] as const) {
      await tabTo(page, page.getByRole('link', { name, exact: true }))
      await page.keyboard.press('Enter')
      await page.waitForURL(({ pathname, href }) => pathname === path && !href.includes('pets_'))
      const marked = await page.locator('#bar [aria-current="page"]').allInnerTexts()
      expect(marked).toEqual(path === '/' ? [] : [name])
    }
  })

  test('forgets the key with "Clear data", at once and after a reload', async ({ page, service, link }) => {
    await open(page, link)
    await page.getByRole('button', { name: 'Open settings dialog' }).click()
    await page.getByRole('button', { name: 'Clear data' }).click()
    await page.getByRole('button', { name: 'Cleared data' }).waitFor()
    expect(await page.locator('#key').inputValue()).toBe('') // the dialog hides it from roles
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Execute query' }).click()
    await expectResult(page).toMatchObject({ errors: [{ extensions: { code: 'UNAUTHENTICATED' } }] })
    await open(page, `${service.base}/graphql`)
    expect(await keyField(page).inputValue()).toBe('')
    expect(await page.evaluate('Object.values(localStorage).join()')).not.toMatch(/pets_/)
  })

  test('takes the key of a link that is pasted while the page is open, and no other fragment', async ({
    page,
    service,
  }) => {
    await open(page, `${service.base}/graphql`)
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    await page.getByText('Error fetching schema').waitFor()
    for (const fragment of ['#key=x', '#key=pets_a b', '#other&key=pets_a', '#key=pets_<img src=x onerror=alert(1)>']) {
      await page.evaluate(`new Promise((resolve) => {
        addEventListener('hashchange', resolve, { once: true })
        location.hash = ${JSON.stringify(fragment)}
      })`)
      expect(await keyField(page).inputValue(), fragment).toBe('')
    }
    await page.evaluate(`location.assign('#key=${service.key}')`)
    await page.getByRole('link', { name: 'Mutation', exact: true }).waitFor()
    expect(await keyField(page).inputValue()).toBe(service.key)
    expect(page.url()).not.toContain('#')
  })

  test('starts with the key of the link, whatever another service has stored', async ({ page, service, link }) => {
    const headers = '{ "Authorization": "Bearer old" }'
    const unused = { variables: null, operationName: null, response: null }
    const tab = { id: '1', title: 'Old', query: '{ old }', headers, ...unused }
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
})

/** A tab contains its button and the one that closes it: graphql/graphiql issue 3422. */
const NESTED_TABS = /^nested-interactive: .*(graphiql-tab|li:nth-child)/

/** The titles of the tabs of the examples. */
const examples = ['Animals', 'NextPage', 'OneAnimal', 'AddAnimal', 'Count', 'JustAdded']

const patience = { timeout: 50_000 }

async function open(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await ready(page)
}

const ready = (page: Page) => editor(page, 'Operation Editor').locator('.view-line').first().waitFor()

type Name = 'Operation Editor' | 'Headers' | 'Result Window'

/** A Monaco editor of the page. The section of headers also contains the hidden editor of variables, before its own. */
const editor = (page: Page, name: Name) => page.getByRole('region', { name }).locator('.monaco-editor').last()

/** Replaces the text of an editor by pasting, since Monaco adds closing brackets to typed text. */
async function fill(page: Page, name: Name, text: string): Promise<void> {
  await page.evaluate(`navigator.clipboard.writeText(${JSON.stringify(text)})`)
  await editor(page, name).click()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.press('ControlOrMeta+V')
}

/** @returns the text of an editor with normalized white space. Its lines are sorted, since Monaco's order is undefined. */
async function text(page: Page, name: Name): Promise<string> {
  const lines = await editor(page, name)
    .locator('.view-line')
    .evaluateAll((all) => all.map((line) => ({ top: parseInt(line.style.top, 10), text: line.textContent ?? '' })))
  lines.sort((a, b) => a.top - b.top)
  const joined = lines.map((line) => line.text).join(' ')
  return joined.replace(/\s+/g, ' ')
}

/** Waits until the result window satisfies an expectation. */
function expectResult(page: Page) {
  return expect.poll(async () => {
    const shown = await text(page, 'Result Window')
    return shown.startsWith('{') && shown.endsWith('}') ? JSON.parse(shown) : shown
  }, patience)
}

/** Executes a query as soon as the page has parsed it, which the title of its tab shows. */
async function run(page: Page, query: string): Promise<void> {
  await fill(page, 'Operation Editor', query)
  await page.getByRole('tab', { name: /^\w+ (\w+)/.exec(query)?.[1] ?? '<untitled>' }).waitFor()
  await page.getByRole('button', { name: 'Execute query' }).click()
}
