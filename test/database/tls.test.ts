import { chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { createCertificate } from '../support/certificates.ts'
import { startService } from '../support/harness.ts'
import { startOwnServer } from '../support/own-server.ts'
import { query } from '../support/postgres.ts'
import { keys, runKeysCommand, runMigrateCommand } from '../support/commands.ts'
import { waitFor, waitUntil } from '../support/timeouts.ts'

/** The line of a command. Newer versions of Node append advice to some of its reasons. */
const lineWith = (reason: string) => expect.stringMatching(`^The database is not available: ${reason}.*\n$`)

async function expectFailure(databaseUrl: string, reason: string): Promise<void> {
  const failure = { code: 1, stdout: '', stderr: lineWith(reason) }
  expect(await runKeysCommand(['list'], databaseUrl)).toEqual(failure)
  for (const command of ['status', 'deploy']) expect(await runMigrateCommand([command], databaseUrl)).toEqual(failure)
}

const authority = createCertificate('Test authority')

/** Writes the certificate of a server, which reads it at the start and when it reloads its settings. */
async function writeCertificate(folder: string, expiresInDays: number): Promise<void> {
  const { certificate, key } = createCertificate('localhost', authority, expiresInDays)
  const file = join(folder, 'postgres', 'server.pem')
  await writeFile(file, certificate + key, { mode: 0o600 })
  const { uid, gid } = await stat(join(folder, 'postgres'))
  await chown(file, uid, gid)
}

/** A PostgreSQL with TLS, which all tests of the file share. */
let server: Awaited<ReturnType<typeof startOwnServer>>
beforeAll(async () => {
  const settings = ['fsync=off', 'ssl=on', 'ssl_cert_file=server.pem', 'ssl_key_file=server.pem']
  server = await startOwnServer({ settings, prepare: (folder) => writeCertificate(folder, 1) })
  await writeFile(join(server.folder, 'ca.crt'), authority.certificate)
  return server.stop
})

async function replaceCertificate(expiresInDays: number): Promise<void> {
  await writeCertificate(server.folder, expiresInDays)
  await query(server.url, 'SELECT pg_reload_conf()')
}

/** @param parameters in which CA stands for the file of the authority that signed the certificates */
const urlWith = (parameters: string, host = 'localhost') =>
  `${server.url.replace('127.0.0.1', host)}?${parameters.replace('CA', join(server.folder, 'ca.crt'))}`

describe('DATABASE_URL on a PostgreSQL with TLS', () => {
  test('verify-full encrypts every connection of the programs and of the service', async () => {
    const DATABASE_URL = urlWith('sslmode=verify-full&sslrootcert=CA')
    expect(await runMigrateCommand(['deploy'], DATABASE_URL)).toMatchObject({ code: 0, stderr: '' })
    const service = await startService(DATABASE_URL, { key: await keys(DATABASE_URL, 'create', '--name', 'tls') })
    const { data } = await service.graphql('{ pets { totalCount liveCursor } }')
    expect(data).toEqual({ pets: { totalCount: 0, liveCursor: expect.any(String) } })
    expect((await service.send('/readyz')).status).toBe(200)
    const activity = 'SELECT DISTINCT ssl FROM pg_stat_activity JOIN pg_stat_ssl USING (pid)'
    const { rows } = await query(server.url, `${activity} WHERE application_name = 'pet-store'`)
    expect(rows).toEqual([{ ssl: true }])
  })

  const modes: [parameters: string, host: string, encrypted: boolean][] = [
    ['', 'localhost', false],
    ['sslmode=disable', 'localhost', false],
    ['sslmode=no-verify', '127.0.0.1', true],
    ['uselibpqcompat=true&sslmode=require', '127.0.0.1', true],
    ['uselibpqcompat=true&sslmode=verify-ca&sslrootcert=CA', '127.0.0.1', true],
  ]
  test.for(modes)('"%s" connects to %s, encrypted: %s', async ([parameters, host, encrypted]) => {
    const DATABASE_URL = urlWith(parameters, host)
    expect(await runKeysCommand(['list'], DATABASE_URL)).toMatchObject({ code: 0, stderr: '' })
    const ofThisConnection = 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()'
    expect((await query(DATABASE_URL, ofThisConnection)).rows).toEqual([{ ssl: encrypted }])
  })
})

describe('a connection that TLS prevents is a line of a command with the reason, and 503 of the service', () => {
  test('for an unknown authority', async () => {
    const DATABASE_URL = urlWith('sslmode=verify-full')
    const cause = 'unable to verify the first certificate'
    await expectFailure(DATABASE_URL, cause)
    const key = await keys(server.url, 'create', '--name', 'tls')
    const { send, log } = await startService(DATABASE_URL, { key })
    await waitUntil(() => log.lines.some(({ reason }) => String(reason).startsWith(cause)))
    for (const path of ['/readyz', '/v1/pets']) expect((await send(path)).status, path).toBe(503)
  })

  test('for another host, or a server without TLS', async () => {
    const ofOtherHost = urlWith('sslmode=verify-full&sslrootcert=CA', '127.0.0.1')
    await expectFailure(ofOtherHost, 'Hostname/IP does not match')
    await expectFailure(`${inject('serverUrl')}?sslmode=verify-full`, 'The server does not support SSL')
  })

  test('for an expired certificate, until it is renewed', async () => {
    const DATABASE_URL = urlWith('sslmode=verify-full&sslrootcert=CA')
    const { base, log } = await startService(DATABASE_URL)
    await replaceCertificate(-1)
    await waitFor(async () => {
      // Each time: a connection that was being made had the certificate of before.
      const ofService = "application_name = 'pet-store'"
      await query(server.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${ofService}`)
      expect((await fetch(`${base}/readyz`)).status).toBe(503)
    })
    await log.line({ reason: 'certificate has expired' })
    await expectFailure(DATABASE_URL, 'certificate has expired')
    await replaceCertificate(1)
    await waitFor(async () => expect((await fetch(`${base}/readyz`)).status).toBe(200))
  })
})
