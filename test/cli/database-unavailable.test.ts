import { describe, expect } from 'vitest'
import { withClient } from '../support/harness.ts'
import { type Sandbox, testWithProcess as test, unreachableDatabaseUrl } from '../support/processes.ts'

const PASSWORD = 'hunter2secret'

/** Expects that each program prints the same line for a database that it cannot use, without the password. */
async function expectReason(sandbox: Sandbox, url: URL, reason: RegExp): Promise<void> {
  const programs = ['keys.js list', 'migrate.js status', 'migrate.js deploy'].map((program) => program.split(' '))
  const env = { DATABASE_URL: url.href }
  const results = await Promise.all(programs.map(([program, ...args]) => sandbox.run(`cli/${program}`, args, env)))
  const [first] = results
  expect(results).toEqual(programs.map(() => ({ code: 1, stdout: '', stderr: first?.stderr })))
  expect(first?.stderr).toMatch(new RegExp(`^The database is not available: ${reason.source}\\n$`))
  expect(first?.stderr).not.toContain(PASSWORD)
}

describe('keys and migrate report the same reason if they cannot use the database', { concurrent: true }, () => {
  const hosts: [problem: string, host: string, reason: RegExp][] = [
    ['nothing listens', '127.0.0.1', /connect ECONNREFUSED 127\.0\.0\.1:\d+/],
    ['nothing listens at any address of the host', 'localhost', /connect ECONNREFUSED .*127\.0\.0\.1.*/],
    ['the host does not exist', 'nowhere.invalid', /getaddrinfo E\w+ nowhere\.invalid/],
  ]
  test.for(hosts)('%s', async ([, hostname, reason], { sandbox }) => {
    const url = Object.assign(new URL(await unreachableDatabaseUrl()), { hostname, password: PASSWORD })
    await expectReason(sandbox, url, reason)
  })

  test('the database does not exist, or the password is wrong', async ({ sandbox, emptyDatabase }) => {
    const elsewhere = Object.assign(new URL(emptyDatabase), { pathname: 'nothing_here' })
    await expectReason(sandbox, elsewhere, /database "nothing_here" does not exist/)
    const url = Object.assign(new URL(emptyDatabase), { username: 'nobody_here', password: PASSWORD })
    await expectReason(sandbox, url, /(password authentication failed|role "nobody_here" does not).*/)
  })

  test('the schema is empty or old', async ({ sandbox, emptyDatabase }) => {
    const env = { DATABASE_URL: emptyDatabase }
    const outdated = {
      code: 1,
      stdout: '',
      stderr: 'The database schema is out of date: node dist/cli/migrate.js deploy\n',
    }
    expect(await sandbox.run('cli/keys.js', ['list'], env)).toEqual(outdated)
    expect(await sandbox.run('cli/migrate.js', ['deploy'], env)).toMatchObject({ code: 0, stderr: '' })
    const removeColumn = 'ALTER TABLE api_key DROP COLUMN last_used_at'
    await withClient((client) => client.query(removeColumn), new URL(emptyDatabase).pathname.slice(1))
    expect(await sandbox.run('cli/keys.js', ['list'], env)).toEqual(outdated)
  })
})
