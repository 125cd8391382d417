import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const installed = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** Path of Chromium. CHROMIUM_PATH is used unchecked, so a wrong path fails the tests instead of skipping them. */
export const chromiumPath = process.env.CHROMIUM_PATH || installed.find((path) => existsSync(path))

/** A suffix for the titles of browser tests: the reason if they are skipped. */
export const whySkipped = chromiumPath ? '' : ' (SKIPPED: no Chromium here; CHROMIUM_PATH can name one)'

if (!chromiumPath)
  console.warn(`No browser tests: CHROMIUM_PATH is not set, and there is no ${installed.join(', no ')}.`)

/** Starts headless Chromium without background requests of its own. */
export function launch(): Promise<Browser> {
  if (!chromiumPath) throw new Error('There is no Chromium to launch.')
  return chromium.launch({
    executablePath: chromiumPath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}
