import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const installed = [
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
]

/** The Chromium to test with. One that CHROMIUM_PATH names is not looked for: a wrong path fails instead of skipping. */
export const chromiumPath = process.env.CHROMIUM_PATH || installed.find((path) => existsSync(path))

/** For the title of browser tests: why they are skipped, if they are. */
export const whySkipped = chromiumPath ? '' : ' (SKIPPED: no Chromium here; CHROMIUM_PATH can name one)'

if (!chromiumPath)
  console.warn(`No browser tests: CHROMIUM_PATH is not set, and there is no ${installed.join(', no ')}.`)

/** Starts Chromium without a window, and without the requests that it makes for itself. */
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
