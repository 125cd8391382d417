import { cpSync, existsSync, openSync } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect } from 'vitest'
import { codeIn, pathOf } from '../support/files.ts'
import { listMigrations, migrate } from '../../src/database/migrate.ts'
import { REMOVED_VARIABLES } from '../../src/config/environment.ts'
import { assets } from '../support/assets.ts'
import { createClient } from '../chaos/client.ts'
import { bearer, cloneDatabase, databaseOf, dropDatabase, withClient } from '../support/harness.ts'
import { query } from '../support/postgres.ts'
import {
  freePort,
  unreachableDatabaseUrl,
  kill,
  occupyPort,
  type Sandbox,
  type ServiceProcess,
  testWithProcess as test,
} from '../support/processes.ts'
import { hasCurl, runShell, whyNoCurl } from '../support/shell.ts'
import { waitFor } from '../support/timeouts.ts'

const keyAlone = /^pets_[0-9a-z]{57}\n$/
const withoutKey = expect.not.stringMatching(/pets_[0-9a-z]{57}/)
const unavailable = { code: 'UNAVAILABLE', message: expect.any(String), status: 503 }

const get = ({ base }: ServiceProcess, path: string, key = '') => fetch(base + path, { headers: bearer(key) })

async function create({ base }: ServiceProcess, key: string, name: string): Promise<unknown> {
  const headers = { ...bearer(key), 'Content-Type': 'application/json' }
  const body = JSON.stringify({ name, categoryId: 1 })
  const response = await fetch(`${base}/v1/pets`, { method: 'POST', headers, body })
  expect(response.status).toBe(201)
  return response.json()
}

const list = async (service: ServiceProcess, key: string): Promise<unknown> =>
  (await get(service, '/v1/pets?limit=100', key)).json()

/** What a command of migrate prints of all migrations. */
const lines = (before: string, after = '') =>
  listMigrations()
    .map((name) => `${before}${name}${after}\n`)
    .join('')

/** Longer than the timeout of a test, so a test that passes did not wait for the end of the drain delay. */
const longDrain = { DRAIN_TIMEOUT_MS: '600000' }

const devKey = async ({ dataDir }: Sandbox) => (await readFile(join(dataDir, 'dev-key'), 'utf8')).trim()

describe('the service on its own PostgreSQL', { concurrent: true }, () => {
  test('a first start prints addresses and a key, which is in no page', async ({ sandbox }) => {
    const service = await sandbox.startEmpty()
    const key = await devKey(sandbox)
    for (const address of [`graphql#key=${key}`, `docs#key=${key}`, 'v1/pets'])
      expect(service.printed).toContain(`http://localhost:${service.port}/${address}\n`)
    expect(service.printed).toContain(join(sandbox.dataDir, 'dev-key'))
    expect((await stat(join(sandbox.dataDir, 'dev-key'))).mode & 0o777).toBe(0o600)
    expect(await list(service, key)).toContainEqual(expect.objectContaining({ name: 'Ziggy 🦜' }))
    expect((await get(service, '/metrics', key)).status).toBe(200)
    expect((await get(service, '/v1/pets')).status).toBe(401)
    for (const path of ['/graphql', '/docs', ...assets, '/openapi.json']) {
      const response = await fetch(service.base + path, { headers: { Accept: 'text/html' } })
      expect([response.status, [...response.headers].join() + (await response.text())]).toEqual([200, withoutKey])
    }
  })

  test.skipIf(!hasCurl)(`the commands of the quick start work${whyNoCurl}`, async ({ sandbox }) => {
    const service = await sandbox.start()
    const commands = codeIn('README.md').find((code) => code.startsWith('KEY=')) ?? ''
    const script = commands.replaceAll('http://localhost:4000', service.base).replaceAll('.data', sandbox.dataDir)
    const [listed, created, queried] = await runShell(script)
    expect(listed).toHaveLength(3)
    expect(listed).toContainEqual(expect.objectContaining({ status: 'available' }))
    expect(created).toMatchObject({ id: expect.any(Number), name: 'Rex' })
    expect(queried).toMatchObject({ data: { pets: { nodes: [{ name: 'Rex' }, {}, {}] } } })
  })

  test('a start warns of a small heap, and of each variable that is not read any more', async ({ sandbox }) => {
    const removed = Object.fromEntries(REMOVED_VARIABLES.map((name) => [name, '1']))
    const cannotListen = { HOST: '203.0.113.1', DATABASE_URL: await unreachableDatabaseUrl() }
    const start = async (mb: number, env = {}) => {
      const options = `--max-old-space-size=${mb} --max-semi-space-size=16` // the second one as npm start has it
      const { stdout } = await sandbox.run('main.js', [], { ...cannotListen, ...env, NODE_OPTIONS: options })
      return stdout
    }
    const printed = await start(64, removed)
    expect(printed).toContain('set --max-old-space-size=96 or more')
    for (const name of REMOVED_VARIABLES) expect(printed).toContain(`"${name} is not read any more`)
    expect(await start(96)).not.toContain('max-old-space-size')
  })

  test('after a SIGKILL of service and PostgreSQL, a SIGKILL, and Ctrl-C, the next start has the key and every animal', async ({
    sandbox,
  }) => {
    let service = await sandbox.start(longDrain)
    const key = await devKey(sandbox)
    for (const ending of ['SIGKILL of both', 'SIGKILL', 'Ctrl-C']) {
      const animal = await create(service, key, ending)
      const animals = await list(service, key)
      expect(animals).toContainEqual(animal)
      const postgres = (await sandbox.postgresPid()) ?? Number.NaN
      if (ending === 'SIGKILL of both') expect(kill(postgres, 'SIGKILL')).toBe(true)
      // Ctrl-C ends it promptly, although another start found this PostgreSQL running.
      const { code } = await service.signal(ending === 'Ctrl-C' ? 'SIGINT' : 'SIGKILL')
      expect(code).toBe(ending === 'Ctrl-C' ? 0 : null)

      service = await sandbox.start(longDrain)
      expect((await sandbox.postgresPid()) === postgres, 'it still runs').toBe(ending === 'SIGKILL')
      expect(await devKey(sandbox)).toBe(key)
      expect(await list(service, key)).toEqual(animals)
    }
  })

  test('a port in use is one line, and no PostgreSQL is left running', async ({ sandbox, onTestFinished }) => {
    const { server, port } = await occupyPort()
    onTestFinished(() => void server.close())
    await sandbox.initialise()
    const { code, stderr } = await sandbox.run('main.js', [], { PORT: String(port) })
    expect(code).toBe(1)
    expect(stderr).toMatch(/^[^\n]+\n$/) // one line
    expect(stderr).toContain(`PORT ${port},`)
    await access(join(sandbox.dataDir, 'postgres.log')) // PostgreSQL was started
    expect(await sandbox.postgresPid()).toBeUndefined()
  })

  test('the keys command works before a start, and beside the service', async ({ sandbox }) => {
    await sandbox.initialise()
    const create = async () => {
      const created = await sandbox.run('cli/keys.js', ['create', '--name', 'web'])
      expect(created).toEqual({ code: 0, stdout: expect.stringMatching(keyAlone), stderr: '' })
      return created.stdout.trim()
    }
    const before = await create()
    expect(await sandbox.postgresPid()).toBeUndefined()
    const service = await sandbox.start()
    const postgres = await sandbox.postgresPid()
    const beside = await create()
    const status = async (key: string) => (await get(service, '/v1/pets', key)).status
    expect([await status(before), await status(beside)]).toEqual([200, 200]) // the service has cached the keys from now on
    expect(await sandbox.run('cli/keys.js', ['revoke', beside.slice(0, 13)])).toMatchObject({ code: 0, stdout: '' })
    await waitFor(async () => expect(await status(beside)).toBe(401))
    expect(await sandbox.postgresPid()).toBe(postgres)
  })
})

describe('the service on an external database', { concurrent: true }, () => {
  test('an old schema is not ready, until migrate deploy has run', async ({ sandbox, emptyDatabase }) => {
    const status = () => sandbox.run('cli/migrate.js', ['status'], { DATABASE_URL: emptyDatabase })
    const service = await sandbox.start({ DATABASE_URL: emptyDatabase })
    expect((await get(service, '/livez')).status).toBe(200)
    const outdated = await get(service, '/readyz')
    expect([outdated.status, await outdated.json()]).toEqual([503, unavailable])
    await service.until((text) => /The schema lacks \d+ migration\(s\): node dist\/cli\/migrate\.js deploy/.test(text))
    expect(await status()).toEqual({ code: 1, stdout: lines('pending  '), stderr: '' })

    expect(await migrate(emptyDatabase)).toEqual(listMigrations())
    expect((await get(service, '/readyz')).status).toBe(200)
    await service.until((text) => text.includes('database available again'))
    expect(await status()).toEqual({ code: 0, stdout: lines('applied  '), stderr: '' })
  })

  test('a migration that is rejected for now is logged once, and tried again', async ({ sandbox, emptyDatabase }) => {
    const database = databaseOf({ databaseUrl: emptyDatabase })
    const setReadOnly = (value: string) =>
      withClient((client) => client.query(`ALTER DATABASE ${database} SET default_transaction_read_only = ${value}`))
    await setReadOnly('on')
    const service = await sandbox.start({ DATABASE_URL: emptyDatabase, MIGRATE_ON_START: 'true' })
    await service.until((printed) => /25006[^\n]*"msg":"migration failed: trying again/.test(printed))
    await setReadOnly('off')
    await service.until((printed) => printed.includes('"msg":"schema is up to date"'))
    const { stdout } = await service.signal('SIGTERM')
    expect(stdout.match(/"msg":"migration failed/g)).toHaveLength(1)
  })

  test('with a failing migration it stays alive, not ready, and tries it once', async ({ sandbox, onTestFinished }) => {
    const databaseUrl = await cloneDatabase()
    onTestFinished(() => dropDatabase(databaseUrl))
    const [first] = listMigrations() // its tables exist already
    await query(databaseUrl, `DELETE FROM _prisma_migrations WHERE migration_name = '${first}'`)
    const service = await sandbox.start({ DATABASE_URL: databaseUrl, MIGRATE_ON_START: 'true' })
    await service.until((printed) => printed.includes('"msg":"migration failed'))
    await sleep(2_000) // a retry would come after 1 second
    expect([(await get(service, '/livez')).status, (await get(service, '/readyz')).status]).toEqual([200, 503])
    const { code, stdout, stderr } = await service.signal('SIGTERM')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout.match(/"msg":"migration failed/g)).toHaveLength(1)
  })

  test('a copy of dist/, prisma/ and package.json is enough, and sends the last spans before it exits', async ({
    sandbox,
    emptyDatabase,
    onTestFinished,
  }) => {
    const root = pathOf('')
    const filter = (path: string) => !path.startsWith(join(root, 'dist/test-')) // other tests create and delete them
    for (const name of ['dist', 'prisma', 'package.json'])
      cpSync(join(root, name), join(sandbox.dataDir, name), { recursive: true, filter })
    const program = (file: string) => join(sandbox.dataDir, 'dist', file)
    const traced: unknown[] = []
    const collector = createServer((req, res) => {
      traced.push(req.url)
      res.end()
    })
    onTestFinished(() => void collector.close())
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${(await occupyPort(collector)).port}`
    const env = { DATABASE_URL: emptyDatabase, OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_BSP_SCHEDULE_DELAY: '600000' }
    const deployed = await sandbox.run(program('cli/migrate.js'), ['deploy'], env)
    expect(deployed).toEqual({ code: 0, stdout: lines('Applied ', '.'), stderr: '' })
    const created = await sandbox.run(program('cli/keys.js'), ['create', '--name', 'web'], env)
    expect(created).toEqual({ code: 0, stdout: expect.stringMatching(keyAlone), stderr: '' })
    const service = await sandbox.start(env, program('main.js'))
    const key = created.stdout.trim()
    expect(await create(service, key, 'Rex')).toMatchObject({ name: 'Rex' })
    const pets = encodeURIComponent('{ pets { totalCount nodes { name } } }')
    const response = await get(service, `/graphql?query=${pets}`, key)
    expect(await response.json()).toEqual({ data: { pets: { totalCount: 1, nodes: [{ name: 'Rex' }] } } })
    expect((await fetch(`${service.base}/docs`)).status).toBe(200)
    expect(await service.signal('SIGTERM')).toMatchObject({ code: 0, stderr: '' })
    expect(traced).toEqual(['/v1/traces'])
  })
})

test.concurrent('a second signal during the drain delay stops the process immediately', async ({ sandbox }) => {
  const service = await sandbox.start({ DATABASE_URL: await unreachableDatabaseUrl(), DRAIN_DELAY_MS: '600000' })
  const ended = service.signal('SIGTERM')
  await waitFor(async () => {
    const response = await get(service, '/readyz')
    expect(await response.json()).toMatchObject({ message: 'The service is shutting down.' })
  })
  await sleep(2_100) // within two seconds, a signal is the same Ctrl-C, passed on by npm
  void service.signal('SIGTERM')
  expect(await ended).toMatchObject({ code: 1 })
})

describe('without a reader of its log it serves until SIGTERM, and exits with 0', { concurrent: true }, () => {
  /** Starts the service without a database. @returns also a function that sends a request, as soon as it responds */
  async function startWithout({ launch }: Sandbox, stdout?: number) {
    const port = await freePort()
    const env = { DATABASE_URL: await unreachableDatabaseUrl(), PORT: String(port) }
    const path = `http://127.0.0.1:${port}/nothing` // a request has a line in the log
    const send = () => waitFor(async () => expect((await fetch(path)).status).toBe(404))
    return { ...launch('main.js', env, stdout), port, send }
  }

  test.for(['first', 'last'])('that has gone before its %s lines', async (lines, { sandbox }) => {
    const { child, send, signal } = await startWithout(sandbox)
    if (lines === 'first') child.stdout?.destroy()
    await send()
    child.stdout?.destroy()
    expect(await signal('SIGTERM')).toMatchObject({ code: 0, stderr: '' })
  })

  test('that takes nothing', async ({ sandbox }) => {
    const { child, port, send, signal } = await startWithout(sandbox)
    await send()
    child.stdout?.pause()
    const client = createClient(port, '', 8)
    const responses = await Promise.all(Array.from({ length: 3_000 }, () => client.send('GET', '/nothing')))
    expect(responses.every(({ status }) => status === 404)).toBe(true)
    client.close()
    const exited = once(child, 'exit')
    const closed = signal('SIGTERM')
    expect(await exited).toEqual([0, null])
    child.stdout?.resume()
    expect((await closed).stderr).toBe('')
  })

  test.skipIf(!existsSync('/dev/full'))('on a full disk', async ({ sandbox }) => {
    const { send, signal } = await startWithout(sandbox, openSync('/dev/full', 'w'))
    await send()
    expect(await signal('SIGTERM')).toMatchObject({ code: 0, stderr: '' })
  })
})
