import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { ANN } from '../support/issuer.ts'

export const ORIGIN = 'http://localhost:5173' // where Vite serves

const folder = fileURLToPath(new URL('../../docs/shop/', import.meta.url))

/** Serves what was built of docs/shop, and the schema for its code generator. */
export async function serveShop(): Promise<Server> {
  const pages = createServer((req, res) => {
    const { pathname } = new URL(req.url ?? '', ORIGIN)
    const isAsset = pathname.startsWith('/assets/')
    if (isAsset) res.setHeader('Content-Type', pathname.endsWith('.js') ? 'text/javascript' : 'text/css')
    const file = pathname === '/schema.graphql' ? '../../schema.graphql' : `dist/${isAsset ? pathname : 'index.html'}`
    res.end(readFileSync(folder + file))
  }).listen(5173, 'localhost')
  await once(pages, 'listening')
  return pages
}

/** @param env addresses, which are part of the build */
export async function buildShop({ VITE_PET_STORE, ...oidc }: Record<string, string | undefined>): Promise<void> {
  const run = (command: string, args: string[], env: object) =>
    promisify(execFile)(command, args, { cwd: folder, env: { ...process.env, ...env } })
  await run('npx', ['graphql-codegen'], { VITE_PET_STORE: ORIGIN })
  await run('npm', ['run', 'build'], { VITE_PET_STORE, ...oidc })
}

export async function signInAtIssuer(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click()
  await confirmAtIssuer(page)
}

/** Sends a password, unless the person is signed in at the issuer. Then allows the scopes. */
export async function confirmAtIssuer(page: Page): Promise<void> {
  const [password, submit] = [page.locator('[name=password]'), page.locator('[type=submit]')]
  await submit.waitFor()
  if (await password.isVisible()) {
    await page.locator('[name=login]').fill(ANN)
    await password.fill('any')
    await submit.click()
    await password.waitFor({ state: 'detached' })
  }
  await submit.click()
}
