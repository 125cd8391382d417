import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { describe, expect } from 'vitest'
import { createClient } from '../chaos/client.ts'
import { animalsIn, prepareDatabase, startCluster, statementsFinished } from '../chaos/cluster.ts'
import { createLedger } from '../chaos/ledger.ts'
import { createProgramFolder, versionOf } from '../chaos/programs.ts'
import { defer, expectBoundsHold } from '../faults/chaos-slices.ts'
import { creations } from '../support/creations.ts'
import { databaseOf, startService, type TestService, testWithService, withClient } from '../support/harness.ts'
import { whileLocked } from '../support/locks.ts'
import { freePort } from '../support/processes.ts'
import { startListening } from '../support/proxies.ts'

const [, major, minor] = /PgBouncer (\d+)\.(\d+)/.exec(versionOf('pgbouncer')) ?? []
/** The installed version as a number, such as 121 for 1.21; 0 without PgBouncer. */
const version = Number(major ?? 0) * 100 + Number(minor ?? 0)

type PoolMode = 'session' | 'transaction'

/** Settings of docs/database.md; max_prepared_statements exists since 1.21. */
const SETTINGS = {
  ignore_startup_parameters: 'extra_float_digits,statement_timeout,lock_timeout',
  default_pool_size: '20',
  query_wait_timeout: '2',
  server_login_retry: '1',
}

/** Starts PgBouncer in front of the server of a URL. @returns the URL of the database through PgBouncer */
async function startPgBouncer(databaseUrl: string, mode: PoolMode, settings = {}): Promise<string> {
  const folder = await createProgramFolder(defer)
  const port = await freePort()
  const url = new URL(databaseUrl)
  const server = `host=${url.hostname} port=${url.port} user=${url.username} password=${decodeURIComponent(url.password)}`
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    ...(mode === 'transaction' && { max_prepared_statements: 200 }),
    ...SETTINGS,
    ...settings,
  }).map(([name, value]) => `${name} = ${value}`)
  const path = await folder.add('pgbouncer')
  await writeFile(join(path, 'config.ini'), ['[databases]', `* = ${server}`, '[pgbouncer]', ...lines].join('\n'))
  await startListening(folder, 'pgbouncer', ['config.ini'], port)
  url.host = `127.0.0.1:${port}`
  return url.href
}

/** The defaults of the tests. */
async function setLimitsOnRole({ databaseUrl }: TestService): Promise<void> {
  const role = `ALTER ROLE ${new URL(databaseUrl).username} IN DATABASE ${databaseOf({ databaseUrl })}`
  await withClient((client) => client.query(`${role} SET lock_timeout = '20s'; ${role} SET statement_timeout = '30s'`))
}

/** Creates four animals, in both APIs, with and without a key. @returns the statuses */
async function createAll(service: TestService, name: string): Promise<number[]> {
  const outcomes = await Promise.all(Object.values(creations).map((create) => create(service, name)))
  return outcomes.map((outcome) => ('id' in outcome ? 201 : outcome.status))
}

const skip = ' (skipped: it is not installed)'
const modes: [title: string, mode: PoolMode, isInstalled: boolean][] = [
  [`in session mode${version ? '' : skip}`, 'session', version > 0],
  // Prepared statements need 1.21.
  [`1.21 in transaction mode${version >= 121 ? '' : skip}`, 'transaction', version >= 121],
]
describe.each(modes)('behind PgBouncer %s', (_title, mode, isInstalled) => {
  const test = testWithService.skipIf(!isInstalled)

  test('two instances serve both APIs, without a warning, if the limits are set on the role', async ({ service }) => {
    await setLimitsOnRole(service)
    // In transaction mode the instances share fewer connections than they open.
    const size = mode === 'transaction' ? '2' : '20'
    const url = await startPgBouncer(service.databaseUrl, mode, {
      default_pool_size: size,
      query_wait_timeout: '60', // opening its connections may take a busy machine longer than the 2 s of the document
    })
    const peers = [await service.startPeer({ DATABASE_URL: url }), await service.startPeer({ DATABASE_URL: url })]
    for (let n = 0; n < 5; n++) {
      const statuses = await Promise.all(peers.map((peer, m) => createAll(peer, `animal-${n}-${m}`)))
      expect(statuses.flat()).toEqual(Array(8).fill(201))
    }
    for (const peer of peers) {
      expect((await (await peer.send('/v1/pets?limit=100')).json()) as unknown[]).toHaveLength(40)
      const { data } = await peer.graphql('{ pets { totalCount liveCursor nodes { id } } }')
      expect(data).toMatchObject({ pets: { totalCount: 40 } })
      expect((await fetch(`${peer.base}/readyz`)).status).toBe(200)
      expect(peer.log.lines.filter(({ level }) => Number(level) >= 40)).toEqual([])
    }
  })

  test("503 if it rejects the service's parameters, which its reason in the log names", async ({ service }) => {
    const url = await startPgBouncer(service.databaseUrl, mode, { ignore_startup_parameters: '' })
    const peer = await service.startPeer({ DATABASE_URL: url })
    await peer.log.line({ msg: 'database unavailable', reason: 'unsupported startup parameter: statement_timeout' })
    expect((await peer.post({ name: 'Rex', categoryId: 1 })).status).toBe(503)
  })

  test('503 if no connection is free in query_wait_timeout, and the animal does not exist', async ({ service }) => {
    await setLimitsOnRole(service)
    const settings = { default_pool_size: '1', query_wait_timeout: '1' }
    const url = await startPgBouncer(service.databaseUrl, mode, settings)
    const other = new pg.Client({ connectionString: url })
    const takeConnection = () => other.connect().then(() => other.query('BEGIN'))
    if (mode === 'session') await takeConnection()
    const peer = await service.startPeer({ DATABASE_URL: url })
    if (mode === 'transaction') {
      expect((await peer.send('/v1/pets')).status).toBe(200) // now a connection to PgBouncer is open
      await takeConnection()
    }
    expect(await createAll(peer, 'Rex')).toEqual(Array(4).fill(503))
    await other.end()
    expect(await (await service.send('/v1/pets')).json()).toEqual([])
  })

  test('504 if PgBouncer closes the connection of a statement beyond query_timeout', async ({ service }) => {
    await setLimitsOnRole(service)
    const url = await startPgBouncer(service.databaseUrl, mode, { query_timeout: '2' })
    const peer = await service.startPeer({ DATABASE_URL: url })
    await whileLocked(service, async () => expect(await createAll(peer, 'Rex')).toEqual(Array(4).fill(504)))
  })

  test('a killed PostgreSQL loses no acknowledged animal, and 503 means not stored', async () => {
    const cluster = await startCluster(defer)
    const { key } = await prepareDatabase(cluster.url)
    const { port } = await startService(await startPgBouncer(cluster.url, mode), { key })
    const client = createClient(port, key)
    defer(() => client.close())
    const ledger = createLedger()
    const writing = ledger.write(client, 8)
    for (const stop of ['kill', 'fast'] as const) {
      await ledger.reaches(ledger.acknowledged + 20)
      await sleep(Math.random() * 20) // at any stage of a statement
      await cluster.stop(stop)
      await cluster.start()
    }
    await ledger.reaches(ledger.acknowledged + 20)
    await writing.stop()
    await statementsFinished(cluster.url)
    expectBoundsHold(ledger.audit(await animalsIn(cluster.url)))
  })
})
