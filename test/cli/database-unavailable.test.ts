import { describe, expect } from 'vitest'
import { withClient } from '../support/harness.ts'
import { type Sandbox, testWithProcess as test, unreachableDatabaseUrl } from '../support/processes.ts'

const PASSWORD = 'hunter2secret'

/** The message that each program prints for a database that it cannot use. It has no password. */
async function messages(sandbox: Sandbox, url: string): Promise<string[]> {
  const programs = [
    ['cli/keys.js', 'list'],
    ['cli/migrate.js', 'status'],
    ['cli/migrate.js', 'deploy'],
  ]
  const env = { DATABASE_URL: url }
  const results = await Promise.all(programs.map(([program = '', ...args]) => sandbox.run(program, args, env)))
  for (const { code, stdout, stderr } of results) {
    expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(/^[^\n]+\n$/) })
    expect(stderr).not.toContain(PASSWORD)
  }
  return results.map(({ stderr }) => stderr.trim())
}

function withPassword(address: string, change: (url: URL) => void = () => {}): string {
  const url = new URL(address)
  url.password = PASSWORD
  change(url)
  return url.href
}

describe('keys and migrate report the same reason if they cannot use the database', { concurrent: true }, () => {
  test('nothing listens', async ({ sandbox }) => {
    const url = withPassword(await unreachableDatabaseUrl())
    const reason = `The database is not available: connect ECONNREFUSED 127.0.0.1:${new URL(url).port}`
    expect(await messages(sandbox, url)).toEqual([reason, reason, reason])
  })

  test('nothing listens at any address of the host', async ({ sandbox }) => {
    const url = withPassword(await unreachableDatabaseUrl(), (url) => (url.hostname = 'localhost'))
    const [reason = '', ...others] = await messages(sandbox, url)
    expect(reason).toMatch(/^The database is not available: connect ECONNREFUSED .*127\.0\.0\.1/)
    expect(others).toEqual([reason, reason])
  })

  test('the host does not exist', async ({ sandbox }) => {
    const url = withPassword('postgresql://u:p@nowhere.invalid/x')
    const [reason = '', ...others] = await messages(sandbox, url)
    expect(reason).toMatch(/^The database is not available: getaddrinfo E\w+ nowhere\.invalid$/)
    expect(others).toEqual([reason, reason])
  })

  test('the database does not exist', async ({ sandbox, emptyDatabase }) => {
    const reason = 'The database is not available: database "nothing_here" does not exist'
    const url = withDatabase(emptyDatabase, 'nothing_here')
    expect(await messages(sandbox, url)).toEqual([reason, reason, reason])
  })

  test('the password is wrong', async ({ sandbox, emptyDatabase }) => {
    const url = withPassword(emptyDatabase, (url) => (url.username = 'nobody_here'))
    const [reason = '', ...others] = await messages(sandbox, url)
    expect(reason).toMatch(
      /^The database is not available: (password authentication failed|role "nobody_here" does not)/,
    )
    expect(others).toEqual([reason, reason])
  })

  test('the schema is empty or old', async ({ sandbox, emptyDatabase }) => {
    const env = { DATABASE_URL: emptyDatabase }
    const outdated = { code: 1, stdout: '', stderr: 'The database schema is out of date: npm run migrate -- deploy\n' }
    expect(await sandbox.run('cli/keys.js', ['list'], env)).toEqual(outdated)
    expect(await sandbox.run('cli/migrate.js', ['deploy'], env)).toMatchObject({ code: 0, stderr: '' })
    const removeColumn = 'ALTER TABLE api_key DROP COLUMN deprecated_calls'
    await withClient((client) => client.query(removeColumn), new URL(emptyDatabase).pathname.slice(1))
    expect(await sandbox.run('cli/keys.js', ['list'], env)).toEqual(outdated)
  })
})

function withDatabase(address: string, name: string): string {
  const url = new URL(address)
  url.pathname = name
  return url.href
}
