import { existsSync, openSync } from 'node:fs'
import type pg from 'pg'
import { describe, expect } from 'vitest'
import { clientScopes, mintKey } from '../../src/auth/api-keys.ts'
import { RESOURCES } from '../../src/resources.ts'
import { bearer, serviceFixture, type TestService } from '../support/harness.ts'
import { keys, runKeysCommand, runMigrateCommand } from '../support/commands.ts'
import { countBlocked, whileLocked } from '../support/locks.ts'
import { testWithProcess, unreachableDatabaseUrl } from '../support/processes.ts'
import { waitUntil } from '../support/timeouts.ts'

const test = testWithProcess.extend<{ service: TestService; keys: (...args: string[]) => Promise<string> }>({
  service: serviceFixture(),
  /** Executes the keys command on the database of the running service. @returns its stdout */
  keys: async ({ service }, use) => use((...args) => keys(service.databaseUrl, ...args)),
})

const hourMs = 3_600_000
const prefixOf = (key: string) => key.slice(0, 13)

const get = ({ base }: TestService, key: string) => fetch(`${base}/v1/pets`, { headers: bearer(key) })

async function listed({ keys }: TestService, key: string) {
  return (await keys.list()).find(({ prefix }) => prefix === prefixOf(key))
}

/** What a new key may do. */
const SCOPES = clientScopes(RESOURCES.map(({ resource }) => resource))

describe('the keys command', () => {
  test('creates a key with scopes and an end, and lists it without its secret', async ({ service, keys }) => {
    const day = new Date(Date.now() + 90 * 24 * hourMs).toISOString().slice(0, 10)
    const key = await keys('create', '--name', 'web shop', '--scopes', 'pets:read', '--expires', '90d')
    expect((await get(service, key)).status).toBe(200)
    expect((await service.post({ name: 'x', categoryId: 1 }, bearer(key))).status).toBe(403)

    const table = await keys('list')
    const row = table.split('\n').find((line) => line.startsWith(prefixOf(key)))
    const minute = '\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d'
    expect(row).toMatch(new RegExp(`^${prefixOf(key)}  web shop +pets:read +${minute} +${day} \\d\\d:\\d\\d +- +-$`))

    expect(table).not.toContain(key.slice(13, 30))
    const usual = await keys('create', '--name', 'usual')
    expect(await listed(service, usual)).toMatchObject({ scopes: SCOPES, expiresAt: null })
  })

  test('rotates a key: both work until the end of the overlap, then only the new one', async ({ service, keys }) => {
    const old = await keys('create', '--name', 'web', '--scopes', 'pets:read', '--expires', '30d')
    const key = await keys('rotate', prefixOf(old), '--overlap', '2h')
    expect(await listed(service, key)).toMatchObject({ name: 'web', scopes: ['pets:read'] })
    let hours = 1.9
    const later = await service.startPeer({ now: () => new Date(Date.now() + hours * hourMs) })
    expect([(await get(later, old)).status, (await get(later, key)).status]).toEqual([200, 200])
    hours = 2.1
    expect([(await get(later, old)).status, (await get(later, key)).status]).toEqual([401, 200])
  })

  test('rotates a key once, also of two at once; its overlap is not taken for its life', async ({ service, keys }) => {
    const prefix = prefixOf(service.key)
    const both = await Promise.allSettled([1, 2].map(() => service.keys.rotate(prefix, hourMs)))
    const [next = '', ...others] = both.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(others).toEqual([])
    expect(await listed(service, next)).toMatchObject({ expiresAt: null })
    const alreadyRotated = `${prefix} was rotated already: its successor is ${prefixOf(next)}.\n`
    const again = await runKeysCommand(['rotate', prefix], service.databaseUrl)
    expect(again).toEqual({ code: 1, stdout: '', stderr: alreadyRotated })
    expect((await keys('list')).match(/^pets_/gm)).toHaveLength(2)
  })

  test('a rotation that hangs delays no creation with an Idempotency-Key', async ({ service }) => {
    const hang = async (unlock: () => Promise<unknown>, client: pg.Client) => {
      const rotation = service.keys.rotate(prefixOf(service.key), hourMs)
      await waitUntil(() => countBlocked(client, 'UPDATE%'))
      const headers = { 'Idempotency-Key': 'once', ...bearer(service.key) }
      expect((await service.post({ name: 'Rex', categoryId: 1 }, headers)).status).toBe(201)
      await unlock()
      await rotation
    }
    await whileLocked(service, hang, { table: 'api_key', mode: 'SHARE' })
  })

  test('a rotated key is the same client, with its Idempotency-Keys and its rate limit', async ({ service, keys }) => {
    const key = await keys('rotate', prefixOf(service.key))
    const next = await keys('rotate', prefixOf(key))
    const headers = []
    for (const one of [service.key, key, next]) {
      const sent = { 'Idempotency-Key': 'once', ...bearer(one) }
      headers.push((await service.post({ name: 'Rex', categoryId: 1 }, sent)).headers)
    }
    expect(headers.map((each) => each.get('idempotent-replayed'))).toEqual([null, 'true', 'true'])
    const left = headers.map((each) => /r=(\d+)/.exec(each.get('ratelimit') ?? '')?.[1])
    expect(left).toEqual(['59999', '59998', '59997'])
  })

  test('revokes a key permanently', async ({ service, keys }) => {
    const key = await keys('create', '--name', 'web')
    await keys('revoke', prefixOf(key))
    expect((await get(service, key)).status).toBe(401)
    for (const command of ['revoke', 'rotate']) {
      expect(await runKeysCommand([command, prefixOf(key)], service.databaseUrl)).toMatchObject({ code: 1, stdout: '' })
    }
  })

  test('lists all keys into a pipe, however many there are', async ({ service, sandbox }) => {
    const add = `INSERT INTO api_key (name, prefix, hash) SELECT 'one', 'pets_' || n, n::text::bytea FROM generate_series(1, 5000) n`
    await service.database.pool.query(add)
    const { stdout } = await sandbox.run('cli/keys.js', ['list'], { DATABASE_URL: service.databaseUrl })
    expect(stdout.trimEnd().split('\n')).toHaveLength(5_002) // with the service's own key, below the titles
  })

  test.skipIf(!existsSync('/dev/full'))('names a new key that it cannot print', async ({ service, keys, sandbox }) => {
    const [env, stdout] = [{ DATABASE_URL: service.databaseUrl }, openSync('/dev/full', 'w')]
    const { code, stderr } = await sandbox.run('cli/keys.js', ['create', '--name', 'web'], env, { stdout })
    const message = /^The output could not be written: .+\. Rotate the new key (pets_\w{8}) with --overlap 0m\.\n$/
    expect([code, stderr]).toEqual([1, expect.stringMatching(message)])
    expect(await keys('rotate', message.exec(stderr)?.[1] ?? '', '--overlap', '0m')).toMatch(/^pets_/)
  })

  const key = mintKey()
  const usage = /^\nUsage: .*\n {2}create --name NAME /
  test.for<[string[], RegExp, RegExp?]>([
    [['revoke', key], /^PREFIX must be /],
    [['rotate', 'pets_12345678', '--overlap', 'soon'], /^--overlap takes /],
    [['create', '--name', 'web', '--scopes', 'pets:all'], new RegExp(`^--scopes takes .* ${SCOPES},metrics:read`)],
    [['create', '--name', 'web', '--expires', '2027-01-31'], /^--expires takes .*30m, 24h, 90d/],
    [['create', '--name', 'web', '--expires', '0d'], /^--expires takes at least 1m/],
    [['create', '--name', ''], /^--name takes 1 to 100 characters/],
    [[], /^A command is missing/, usage],
    [['list', '--name', 'web'], /'--name'/, usage],
    [['create'], /^--name is missing/, usage],
    [['create', '--name'], /'--name <value>'/, usage],
    [['revoke'], /^PREFIX is missing/, usage],
    [['create', '--name', 'web', key], /^There are too many arguments/, usage],
    [[key], /^Unknown command: /, usage],
    [['revoke', `--${key}`], /'--pets_/, usage],
  ])(
    'names an invalid argument in one line, before the usage if it is unknown or missing, and prints no key: %j',
    async ([args, problem, rest = /^$/]) => {
      const url = await unreachableDatabaseUrl()
      const { code, stdout, stderr } = await runKeysCommand(args, url, { PORT: 'wrong' }) // which is read afterwards
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toMatch(problem)
      expect(stderr.slice(stderr.indexOf('\n') + 1)).toMatch(rest)
      expect(stderr).not.toContain(key.slice(13, 30))
    },
  )

  test('migrate names an unknown command, whatever follows it', async () => {
    const { stderr } = await runMigrateCommand(['deplyo', 'x'], await unreachableDatabaseUrl())
    expect(stderr).toMatch(/^Unknown command: deplyo\./)
  })

  test('--help prints the usage and every variable', async () => {
    const stdout = expect.stringMatching(/^Usage: .*\n {2}create --name NAME [^]*\n {2}DATABASE_URL_FILE\n/)
    expect(await runKeysCommand(['--help'], await unreachableDatabaseUrl())).toEqual({ code: 0, stdout, stderr: '' })
  })
})
