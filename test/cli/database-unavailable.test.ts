import { describe, expect } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
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
    ['nothing listens at any address of the host', 'localhost', 'ECONNREFUSED'],
    ['the host does not exist', 'nowhere.invalid', 'nowhere.invalid'],
  ])('%s', async ([, hostname, reason]) => {
    const url = Object.assign(new URL(await unreachableDatabaseUrl()), { hostname, password: PASSWORD }).href
    const line = await reasonOf(url)
    expect(line).toMatch(new RegExp(`^The database is not available: .*${reason}`))
    expect(await runMigrateCommand(['status'], url)).toEqual({ code: 1, stdout: '', stderr: line })
  })

  test('the database does not exist, or the password is wrong', async ({ emptyDatabase }) => {
    const elsewhere = Object.assign(new URL(emptyDatabase), { pathname: 'nothing_here' })
    expect(await reasonOf(elsewhere.href)).toContain('not available: database "nothing_here" does not exist')
    const url = Object.assign(new URL(emptyDatabase), { username: 'nobody_here', password: PASSWORD })
    expect(await reasonOf(url.href)).toMatch(/not available: (password authentication failed|role "nobody_here")/)
  })

  test('a file that DATABASE_URL or a replica names does not exist', async () => {
    const DATABASE_URL = 'postgresql://x/y?sslrootcert=/nowhere'
    expect(await reasonOf(DATABASE_URL)).toContain('Configuration: DATABASE_URL ')
    const config = loadConfig({ DATABASE_URL: 'postgresql://x/y', DATABASE_REPLICA_URLS: DATABASE_URL })
    await expect(resolveDatabaseServer(config)).rejects.toThrow('Configuration: DATABASE_REPLICA_URLS ')
  })

  test('the schema is empty or old', async ({ emptyDatabase }) => {
    const outdated = 'The database schema is out of date: node dist/cli/migrate.js deploy\n'
    expect(await reasonOf(emptyDatabase)).toBe(outdated)
    await migrate(emptyDatabase)
    await query(emptyDatabase, 'ALTER TABLE api_key DROP COLUMN last_used_at')
    expect(await reasonOf(emptyDatabase)).toBe(outdated)
  })
})
