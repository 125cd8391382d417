import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, inject } from 'vitest'
import { migrate } from '../../src/database/migrate.ts'
import { type Certificate, createCertificate } from '../support/certificates.ts'
import { bearer, startService } from '../support/harness.ts'
import { startOwnServer } from '../support/own-server.ts'
import { query } from '../support/postgres.ts'
import { keys, runKeysCommand, runMigrateCommand } from '../support/commands.ts'
import { testWithProcess as test } from '../support/processes.ts'
import { waitFor } from '../support/timeouts.ts'

/** The line of a command. Newer versions of Node append advice to some of its reasons. */
const lineWith = (reason: string) => expect.stringMatching(`^The database is not available: ${reason}.*\n$`)

async function expectFailure(databaseUrl: string, reason: string): Promise<void> {
  const failure = { code: 1, stdout: '', stderr: lineWith(reason) }
  expect(await runKeysCommand(['list'], databaseUrl)).toEqual(failure)
  for (const command of ['status', 'deploy']) expect(await runMigrateCommand([command], databaseUrl)).toEqual(failure)
}

/** A PostgreSQL with TLS, which all tests of the file share. */
let server: Awaited<ReturnType<typeof startServer>>
beforeAll(async () => void (server = await startServer()))
afterAll(() => server.stop())

async function writeCertificates(folder: string, authority: Certificate): Promise<void> {
  await writeFile(join(folder, 'ca.crt'), authority.certificate)
  const { uid, gid } = await stat(join(folder, 'postgres'))
  for (const [name, expiresInDays] of Object.entries({ server: 1, expired: -1 })) {
    const { certificate, key } = createCertificate('localhost', authority, expiresInDays)
    const file = join(folder, 'postgres', `${name}.pem`)
    await writeFile(file, certificate + key, { mode: 0o600 })
    await chown(file, uid, gid)
  }
}

async function startServer() {
  const authority = createCertificate('Test authority')
  const own = await startOwnServer({
    settings: ['fsync=off'],
    prepare: (folder) => writeCertificates(folder, authority),
  })
  const execute = (sql: string) => query(own.url, sql)
  /** Makes PostgreSQL use another of its certificates. */
  async function use(name: 'server' | 'expired'): Promise<void> {
    await execute(`ALTER SYSTEM SET ssl_key_file = '${name}.pem'`)
    await execute(`ALTER SYSTEM SET ssl_cert_file = '${name}.pem'`)
    await execute('ALTER SYSTEM SET ssl = on')
    await execute('SELECT pg_reload_conf()')
    const settings = "SELECT current_setting('ssl_cert_file') AS file, current_setting('ssl') AS ssl"
    await waitFor(async () => expect((await execute(settings)).rows).toEqual([{ file: `${name}.pem`, ssl: 'on' }]))
  }
  await use('server')
  await migrate(own.url)
  /** @param parameters in which CA stands for the file of the authority that signed the certificates */
  const url = (parameters: string, host = 'localhost') =>
    `${own.url.replace('127.0.0.1', host)}?${parameters.replace('CA', join(own.folder, 'ca.crt'))}`
  return { url, execute, use, stop: own.stop }
}

describe('DATABASE_URL on a PostgreSQL with TLS', () => {
  test('verify-full encrypts every connection of the programs and of the service', async ({ sandbox }) => {
    const DATABASE_URL = server.url('sslmode=verify-full&sslrootcert=CA')
    expect(await runMigrateCommand(['deploy'], DATABASE_URL)).toMatchObject({ code: 0, stderr: '' })
    const key = await keys(DATABASE_URL, 'create', '--name', 'tls')
    const { base, signal } = await sandbox.start({ DATABASE_URL })
    const headers = { ...bearer(key), 'Content-Type': 'application/json' }
    const body = JSON.stringify({ query: '{ pets { totalCount liveCursor } }' })
    const response = await fetch(`${base}/graphql`, { method: 'POST', headers, body })
    expect(await response.json()).toEqual({ data: { pets: { totalCount: 0, liveCursor: expect.any(String) } } })
    expect((await fetch(`${base}/readyz`)).status).toBe(200)
    const { rows } = await server.execute(
      "SELECT ssl, count(*)::int FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name = 'pet-store' GROUP BY ssl",
    )
    expect(rows).toEqual([{ ssl: true, count: expect.any(Number) }])
    expect(await signal('SIGTERM')).toMatchObject({ code: 0, stderr: '' })
  })

  const modes: [parameters: string, host: string, encrypted: boolean][] = [
    ['', 'localhost', false],
    ['sslmode=disable', 'localhost', false],
    ['sslmode=no-verify', '127.0.0.1', true],
    ['uselibpqcompat=true&sslmode=require', '127.0.0.1', true],
    ['uselibpqcompat=true&sslmode=verify-ca&sslrootcert=CA', '127.0.0.1', true],
  ]
  test.for(modes)('"%s" connects to %s, encrypted: %s', async ([parameters, host, encrypted]) => {
    const DATABASE_URL = server.url(parameters, host)
    expect(await runKeysCommand(['list'], DATABASE_URL)).toMatchObject({ code: 0, stderr: '' })
    const ofThisConnection = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    expect((await query(DATABASE_URL, ofThisConnection)).rows).toEqual([{ ssl: encrypted }])
  })
})

describe('a connection that TLS prevents is a line of a command with the reason, and 503 of the service', () => {
  test('for an unknown authority', async ({ sandbox }) => {
    const DATABASE_URL = server.url('sslmode=verify-full')
    const reason = 'unable to verify the first certificate'
    await expectFailure(DATABASE_URL, reason)
    const { base, until } = await sandbox.start({ DATABASE_URL, MIGRATE_ON_START: 'true' })
    await until((log) => log.includes(`"reason":"${reason}`) && log.includes('trying again every second'))
    const headers = bearer(await keys(server.url(''), 'create', '--name', 'tls'))
    for (const path of ['/readyz', '/v1/pets']) expect((await fetch(base + path, { headers })).status, path).toBe(503)
  })

  test('for another host, or a server without TLS', async () => {
    const ofOtherHost = server.url('sslmode=verify-full&sslrootcert=CA', '127.0.0.1')
    await expectFailure(ofOtherHost, 'Hostname/IP does not match')
    await expectFailure(`${inject('serverUrl')}?sslmode=verify-full`, 'The server does not support SSL')
  })

  test('for an expired certificate, until it is renewed', async () => {
    const DATABASE_URL = server.url('sslmode=verify-full&sslrootcert=CA')
    const { base, log } = await startService(DATABASE_URL)
    await server.use('expired')
    await waitFor(async () => {
      // Each time: a connection that was being made had the certificate of before.
      const ofService = "application_name = 'pet-store'"
      await server.execute(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ofService}`)
      expect((await fetch(`${base}/readyz`)).status).toBe(503)
    })
    await log.line({ reason: 'certificate has expired' })
    await expectFailure(DATABASE_URL, 'certificate has expired')
    await server.use('server')
    await waitFor(async () => expect((await fetch(`${base}/readyz`)).status).toBe(200))
  })
})
