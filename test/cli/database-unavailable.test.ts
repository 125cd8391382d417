import { describe, expect } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { resolveDatabaseServer } from '../../src/database/database-server.ts'
import { migrate } from '../../src/database/migrate.ts'
import { runKeysCommand, runMigrateCommand } from '../support/commands.ts'
import { query } from '../support/postgres.ts'
import { testWithProcess as test, unreachableDatabaseUrl } from '../support/processes.ts'

const PASSWORD = 'hunter2secret'

/** Expects that keys prints one line, without the password. @returns it */
async function reasonOf(url: string): Promise<string> {
  const { stderr, ...result } = await runKeysCommand(['list'], url)
  expect(result).toEqual({ code: 1, stdout: '' })
  expect(stderr).toMatch(/^[^\n]+\n$/)
  expect(stderr).not.toContain(PASSWORD)
  return stderr
}

describe('keys and migrate say in one line why they cannot use the database', () => {
  test.for([
    ['nothing listens', '127.0.0.1', /connect ECONNREFUSED 127\.0\.0\.1:\d+\n/],
    ['nothing listens at any address of the host', 'localhost', /connect ECONNREFUSED .*127\.0\.0\.1.*/],
    ['the host does not exist', 'nowhere.invalid', /getaddrinfo E\w+ nowhere\.invalid\n/],
  ] as const)('%s', async ([, hostname, reason]) => {
    const url = Object.assign(new URL(await unreachableDatabaseUrl()), { hostname, password: PASSWORD }).href
    const line = await reasonOf(url)
    expect(line).toMatch(new RegExp(`^The database is not available: ${reason.source}`))
    expect(await runMigrateCommand(['status'], url)).toEqual({ code: 1, stdout: '', stderr: line })
  })

  test('the database does not exist, or the password is wrong', async ({ emptyDatabase }) => {
    const elsewhere = Object.assign(new URL(emptyDatabase), { pathname: 'nothing_here' })
    expect(await reasonOf(elsewhere.href)).toContain('not available: database "nothing_here" does not exist')
    const url = Object.assign(new URL(emptyDatabase), { username: 'nobody_here', password: PASSWORD })
    expect(await reasonOf(url.href)).toMatch(/not available: (password authentication failed|role "nobody_here")/)
  })

  test('a file that DATABASE_URL or a replica names does not exist', async () => {
    for (const parameters of ['sslrootcert=/nowhere', 'sslmode=verify-full&sslkey=/nowhere']) {
      const DATABASE_URL = `postgresql://x/y?${parameters}`
      expect(await reasonOf(DATABASE_URL)).toContain('Configuration: DATABASE_URL ')
      const config = loadConfig({ DATABASE_URL: 'postgresql://x/y', DATABASE_REPLICA_URLS: DATABASE_URL })
      const reason = 'Configuration: DATABASE_REPLICA_URLS cannot be used: '
      await expect(resolveDatabaseServer(config)).rejects.toThrow(reason)
    }
  })

  test('the schema is empty or old', async ({ emptyDatabase }) => {
    const outdated = 'The database schema is out of date: node dist/cli/migrate.js deploy\n'
    expect(await reasonOf(emptyDatabase)).toBe(outdated)
    await migrate(emptyDatabase)
    await query(emptyDatabase, 'ALTER TABLE api_key DROP COLUMN last_used_at')
    expect(await reasonOf(emptyDatabase)).toBe(outdated)
  })
})
