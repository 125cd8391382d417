import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** WCAG 2.0 to 2.2, levels A and AA. */
const RUN_OPTIONS: RunOptions = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  resultTypes: ['violations'],
}

/**
 * Expects that the page, in its current state, has no violations of WCAG A and AA that axe-core finds. DevTools injects
 * axe-core, so the page's Content-Security-Policy stays in force.
 * @param except matches known violations in a library's own markup, as "rule of axe-core: selector"
 */
export async function expectAccessible(page: Page, except?: RegExp): Promise<void> {
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE)
  const run = `axe.run(document, ${JSON.stringify(RUN_OPTIONS)})`
  const { violations } = (await page.evaluate(run)) as AxeResults // what axe.run returns
  const unknown = violations.flatMap(({ id, nodes }) =>
    nodes
      .filter(({ target }) => !except?.test(`${id}: ${target.join(' ')}`))
      .map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary?.replace(/\s+/g, ' ')}`),
  )
  expect(unknown).toEqual([])
}

/** Presses Tab until an element has the focus. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  const hasFocus = () => target.evaluate((element) => element === element.ownerDocument.activeElement)
  for (let presses = 0; presses < 50; presses++) {
    await page.keyboard.press('Tab')
    if (await hasFocus()) return
  }
  throw new Error(`50 times Tab does not reach ${target}`)
}
