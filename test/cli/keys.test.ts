import { existsSync, openSync } from 'node:fs'
import type pg from 'pg'
import { describe, expect } from 'vitest'
import { clientScopes, mintKey } from '../../src/auth/api-keys.ts'
import { RESOURCES } from '../../src/resources.ts'
import { bearer, serviceFixture, type TestService } from '../support/harness.ts'
import { keys, runKeysCommand } from '../support/commands.ts'
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
    expect([(await get(service, old)).status, (await get(service, key)).status]).toEqual([200, 200])
    expect(await listed(service, key)).toMatchObject({ name: 'web', scopes: ['pets:read'] })

    for (const [hours, status] of [
      [1.9, 200],
      [2.1, 401],
    ] as const) {
      const later = await service.startPeer({ now: () => new Date(Date.now() + hours * hourMs) })
      expect([(await get(later, old)).status, (await get(later, key)).status]).toEqual([status, 200])
    }
  })

  test('rotates a key once, also of two at once; its overlap is not taken for its life', async ({ service, keys }) => {
    const prefix = prefixOf(service.key)
    const both = await Promise.allSettled([1, 2].map(() => service.keys.rotate(prefix, hourMs)))
    const rotated = both.flatMap((result) => (result.status === 'fulfilled' ? [result.value ?? ''] : []))
    const [next = ''] = rotated
    expect(rotated).toEqual([next])
    expect(await listed(service, next)).toMatchObject({ expiresAt: null })
    const all = await keys('list')
    const alreadyRotated = `${prefix} was rotated already: its successor is ${prefixOf(next)}.\n`
    const again = await runKeysCommand(['rotate', prefix], service.databaseUrl)
    expect(again).toEqual({ code: 1, stdout: '', stderr: alreadyRotated })
    expect(await keys('list')).toBe(all)
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
    const animals = []
    for (const one of [service.key, key, next]) {
      const headers = { 'Idempotency-Key': 'once', ...bearer(one) }
      const response = await service.post({ name: 'Rex', categoryId: 1 }, headers)
      const left = /r=(\d+)/.exec(response.headers.get('ratelimit') ?? '')?.[1]
      animals.push([response.headers.get('idempotent-replayed'), left, await response.text()])
    }
    const animal = animals[0]?.[2]
    expect(animals).toEqual([
      [null, '59999', animal],
      ['true', '59998', animal],
      ['true', '59997', animal],
    ])
  })

  test('revokes a key permanently', async ({ service, keys }) => {
    const key = await keys('create', '--name', 'web')
    await keys('revoke', prefixOf(key))
    expect((await get(service, key)).status).toBe(401)
    for (const command of ['revoke', 'rotate']) {
      const again = await runKeysCommand([command, prefixOf(key)], service.databaseUrl)
      expect(again).toEqual({ code: 1, stdout: '', stderr: `No active key has the prefix ${prefixOf(key)}.\n` })
    }
  })

  test('lists all keys into a pipe, however many there are', async ({ service, sandbox }) => {
    const add = `INSERT INTO api_key (name, prefix, hash) SELECT 'one', 'pets_' || n, n::text::bytea FROM generate_series(1, 5000) n`
    await service.database.pool.query(add)
    const { stdout } = await sandbox.run('cli/keys.js', ['list'], { DATABASE_URL: service.databaseUrl })
    expect(stdout.trimEnd().split('\n')).toHaveLength(5_002) // with the service's own key, below the titles
  })

  test.skipIf(!existsSync('/dev/full'))('names a new key that it cannot print', async ({ service, keys, sandbox }) => {
    const old = await keys('create', '--name', 'web')
    const fullDisk = openSync('/dev/full', 'w')
    for (const command of ['create --name shop', `rotate ${prefixOf(old)}`]) {
      const env = { DATABASE_URL: service.databaseUrl }
      const { code, stderr } = await sandbox.run('cli/keys.js', command.split(' '), env, { stdout: fullDisk })
      const message = /^The output could not be written: .+\. Rotate the new key (pets_\w{8}) with --overlap 0m\.\n$/
      expect([code, stderr]).toEqual([1, expect.stringMatching(message)])
      expect(await keys('rotate', message.exec(stderr)?.[1] ?? '', '--overlap', '0m')).toMatch(/^pets_/)
    }
  })

  const key = mintKey()
  const USAGE = /^\nUsage: .*\n {2}create --name NAME /
  test.for([
    [['revoke', key], /^PREFIX must be /],
    [['rotate', key], /^PREFIX must be /],
    [['rotate', 'pets_12345678', '--overlap', 'soon'], /^--overlap takes a duration: 30m, 24h, 90d\.$/m],
    [['create', '--name', 'web', '--scopes', 'pets:all'], new RegExp(`^--scopes takes .* ${SCOPES},metrics:read`)],
    [['create', '--name', 'web', '--scopes', ''], /^--scopes takes /],
    [['create', '--name', 'web', '--expires', '2027-01-31'], /^--expires takes a duration: 30m, 24h, 90d\.$/m],
    [['create', '--name', 'web', '--expires', '0d'], /^--expires takes at least 1m\.$/m],
    [['create', '--name', ''], /^--name takes 1 to 100 characters/],
    [[], /^A command is missing\./, USAGE],
    [['lst'], /^Unknown command: lst\./, USAGE],
    [['list', '--name', 'web'], /^Unknown option '--name'\./, USAGE],
    [['create'], /^--name is missing\./, USAGE],
    [['create', '--name'], /^Option '--name <value>' argument missing/, USAGE],
    [['revoke'], /^PREFIX is missing\./, USAGE],
    [['revoke', 'a', 'b'], /^There are too many arguments\./, USAGE],
    [['create', '--name', 'web', key], /^There are too many arguments\./, USAGE],
    [[key], /^Unknown command: /, USAGE],
    [['revoke', `--${key}`], /^Unknown option '--/, USAGE],
  ] as [string[], RegExp, RegExp?][])(
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

  test('--help prints the usage and every variable', async () => {
    const { code, stdout, stderr } = await runKeysCommand(['--help'], await unreachableDatabaseUrl())
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^Usage: .*\n {2}create --name NAME /)
    expect(stdout).toContain('\n  DATABASE_URL_FILE\n')
  })
})
