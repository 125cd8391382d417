import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import { connect } from 'node:net'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect } from 'vitest'
import { issueKey } from '../chaos/cluster.ts'
import { assets } from '../support/assets.ts'
import { cloneDatabase, dropDatabase, withClient, databaseOf } from '../support/harness.ts'
import { recordKey } from '../support/output.ts'
import {
  unreachableDatabaseUrl,
  kill,
  occupyPort,
  type Sandbox,
  type ServiceProcess,
  testWithProcess as test,
} from '../support/processes.ts'
import { waitFor } from '../support/timeouts.ts'

const oneLine = /^[^\n]+\n$/
const keyAlone = /^pets_[0-9a-z]{57}\n$/
const unavailable = { code: 'UNAVAILABLE', message: expect.any(String), status: 503 }
const migrations = readdirSync(new URL('../../prisma/migrations', import.meta.url)).filter((name) =>
  /^\d{14}_/.test(name),
)

const get = ({ base }: ServiceProcess, path: string, key = '') =>
  fetch(base + path, { headers: { Authorization: `Bearer ${key}` } })

async function create({ base }: ServiceProcess, key: string, name: string): Promise<unknown> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  const body = JSON.stringify({ name, categoryId: 1 })
  const response = await fetch(`${base}/v1/pets`, { method: 'POST', headers, body })
  expect(response.status).toBe(201)
  return response.json()
}

const list = async (service: ServiceProcess, key: string): Promise<unknown> =>
  (await get(service, '/v1/pets?limit=100', key)).json()

/** Longer than the timeout of a test, so a test that passes did not wait for the end of the drain delay. */
const longDrain = { DRAIN_TIMEOUT_MS: '600000' }

const devKey = async ({ dataDir }: Sandbox) => (await readFile(join(dataDir, 'dev-key'), 'utf8')).trim()

describe('the service on its own PostgreSQL', { concurrent: true }, () => {
  test('a first start in an empty folder prints addresses and a key that reads the sample animals and the metrics', async ({
    sandbox,
  }) => {
    const service = await sandbox.startEmpty()
    const key = await devKey(sandbox)
    expect(service.printed).toContain(`http://localhost:${service.port}/graphql#key=${key}\n`)
    expect(service.printed).toContain(`http://localhost:${service.port}/docs#key=${key}\n`)
    expect(service.printed).toContain(`http://localhost:${service.port}/v1/pets\n`)
    expect(service.printed).toContain(join(sandbox.dataDir, 'dev-key'))
    expect((await stat(join(sandbox.dataDir, 'dev-key'))).mode & 0o777).toBe(0o600)
    const samples = ['Biscuit', 'Ziggy 🦜'].map((name) => expect.objectContaining({ name }))
    expect(await list(service, key)).toEqual(expect.arrayContaining(samples))
    expect((await get(service, '/metrics', key)).status).toBe(200)
    expect((await get(service, '/v1/pets')).status).toBe(401)
  })

  test('with a heap that is too small it logs a warning', async ({ sandbox }) => {
    const cannotListen = { HOST: '203.0.113.1', DATABASE_URL: await unreachableDatabaseUrl() }
    const start = (mb: number) => {
      const options = `--max-old-space-size=${mb} --max-semi-space-size=16` // the second one as npm start has it
      return sandbox.run('main.js', [], { ...cannotListen, NODE_OPTIONS: options })
    }
    expect((await start(64)).stdout).toContain('set --max-old-space-size=96 or more')
    expect((await start(96)).stdout).not.toContain('max-old-space-size')
  })

  test('without the pages of the build it reports that in one line, and leaves no PostgreSQL running', async ({
    sandbox,
    onTestFinished,
  }) => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const copy = mkdtempSync(join(root, 'dist/test-no-pages-'))
    onTestFinished(() => rmSync(copy, { recursive: true }))
    const compiled = readdirSync(join(root, 'dist')).filter((name) => !/^(public|test-)/.test(name))
    for (const name of compiled) cpSync(join(root, 'dist', name), join(copy, 'dist', name), { recursive: true })
    for (const name of ['prisma', 'package.json']) symlinkSync(join(root, name), join(copy, name))
    await sandbox.initialise()
    const { code, stderr } = await sandbox.run(`${basename(copy)}/dist/main.js`)
    expect(code).toBe(1)
    expect(stderr).toMatch(/^dist\/public\/ does not exist: npm run build[^\n]*\n$/)
    expect(await sandbox.postgresPid()).toBeUndefined()
  })

  test('the service never sends the development key to a client', async ({ sandbox }) => {
    const { base } = await sandbox.start()
    for (const path of ['/graphql', '/docs', ...assets, '/openapi.json']) {
      const response = await fetch(base + path, { headers: { Accept: 'text/html' } })
      expect(response.status).toBe(200)
      expect(JSON.stringify([...response.headers]) + (await response.text())).not.toMatch(/pets_[0-9a-z]{57}/)
    }
  })

  test('Ctrl-C stops the service and its PostgreSQL promptly; a second start uses the data and key of the first', async ({
    sandbox,
  }) => {
    const first = await sandbox.start(longDrain)
    const key = await devKey(sandbox)
    const animal = await create(first, key, 'Rex')
    const before = await list(first, key)
    expect(await first.signal('SIGINT')).toMatchObject({ code: 0, stderr: '' })
    expect(await sandbox.postgresPid()).toBeUndefined()

    const second = await sandbox.start()
    expect(await devKey(sandbox)).toBe(key)
    const after = await list(second, key)
    expect(after).toContainEqual(animal)
    expect(after).toEqual(before)
  })

  test('after a SIGKILL the next start uses the PostgreSQL that still runs, and stops it on shutdown', async ({
    sandbox,
  }) => {
    const first = await sandbox.start()
    const key = await devKey(sandbox)
    const animal = await create(first, key, 'Rex')
    const postgres = await sandbox.postgresPid()
    await first.signal('SIGKILL')

    const second = await sandbox.start()
    expect(await sandbox.postgresPid()).toBe(postgres)
    expect(await list(second, key)).toContainEqual(animal)
    expect(await second.signal('SIGINT')).toMatchObject({ code: 0, stderr: '' })
    expect(await sandbox.postgresPid()).toBeUndefined()
  })

  test('after a SIGKILL of service and PostgreSQL the next start has every animal', async ({ sandbox }) => {
    const first = await sandbox.start()
    const key = await devKey(sandbox)
    const animal = await create(first, key, 'Rex')
    const postgres = (await sandbox.postgresPid()) ?? Number.NaN
    expect(kill(postgres, 'SIGKILL')).toBe(true)
    await first.signal('SIGKILL')

    const second = await sandbox.start()
    expect(await sandbox.postgresPid()).not.toBe(postgres)
    expect(await devKey(sandbox)).toBe(key)
    expect(await list(second, key)).toContainEqual(animal)
  })

  test('a port in use is reported in one line, and no PostgreSQL is left running', async ({
    sandbox,
    onTestFinished,
  }) => {
    const { server, port } = await occupyPort()
    onTestFinished(() => void server.close())
    await sandbox.initialise()
    const { code, stderr } = await sandbox.run('main.js', [], { PORT: String(port) })
    expect(code).toBe(1)
    expect(stderr).toMatch(oneLine)
    expect(stderr).toContain(`PORT ${port},`)
    await access(join(sandbox.dataDir, 'postgres.log')) // PostgreSQL was started
    expect(await sandbox.postgresPid()).toBeUndefined()
  })
})

describe('the keys command', { concurrent: true }, () => {
  test('creates a valid key while the service is running, and revokes it', async ({ sandbox }) => {
    const service = await sandbox.start()
    const postgres = await sandbox.postgresPid()
    const created = await sandbox.run('cli/keys.js', ['create', '--name', 'web'])
    expect(created).toEqual({ code: 0, stdout: expect.stringMatching(keyAlone), stderr: '' })
    const key = created.stdout.trim()
    const prefix = key.slice(0, 13)
    expect((await get(service, '/v1/pets', key)).status).toBe(200)

    const listed = await sandbox.run('cli/keys.js', ['list'])
    expect(listed).toMatchObject({ code: 0, stderr: '' })
    expect(listed.stdout).toMatch(new RegExp(`^${prefix} +web `, 'm'))
    expect(listed.stdout).not.toContain(key.slice(0, 14))

    expect((await get(service, '/v1/pets', key)).status).toBe(200) // the service has cached the key from now on
    expect(await sandbox.run('cli/keys.js', ['revoke', prefix])).toMatchObject({ code: 0, stdout: '' })
    await waitFor(async () => expect((await get(service, '/v1/pets', key)).status).toBe(401))
    expect((await get(service, '/v1/pets', await devKey(sandbox))).status).toBe(200)
    expect(await sandbox.postgresPid()).toBe(postgres)
  })

  test('while the service does not run, it creates a key for the next start and leaves no PostgreSQL running', async ({
    sandbox,
  }) => {
    const first = await sandbox.start()
    await first.signal('SIGTERM')
    const created = await sandbox.run('cli/keys.js', ['create', '--name', 'web'])
    expect(created).toEqual({ code: 0, stdout: expect.stringMatching(keyAlone), stderr: '' })
    expect(await sandbox.postgresPid()).toBeUndefined()

    const unknown = await sandbox.run('cli/keys.js', ['revoke', 'pets_nobodys0'])
    expect(unknown).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(oneLine) })
    expect(unknown.stderr).toContain('pets_nobodys0')
    expect(await sandbox.postgresPid()).toBeUndefined()

    const second = await sandbox.start()
    expect((await get(second, '/v1/pets', created.stdout.trim())).status).toBe(200)
  })

  test('npm start takes no arguments', async ({ sandbox }) => {
    const { code, stdout, stderr } = await sandbox.run('main.js', ['--port', '80'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toBe('The service takes no arguments but --help; environment variables configure it.\n')
  })
})

describe('the service on an external database', { concurrent: true }, () => {
  test('on an old schema it is alive but not ready, until migrate deploy has run, without a restart', async ({
    sandbox,
    emptyDatabase,
  }) => {
    const env = { DATABASE_URL: emptyDatabase }
    const statusLines = (state: string) => migrations.map((name) => `${state}  ${name}\n`).join('')
    const service = await sandbox.start(env)
    expect((await get(service, '/livez')).status).toBe(200)
    const outdated = await get(service, '/readyz')
    expect([outdated.status, await outdated.json()]).toEqual([503, unavailable])
    const pending = { code: 1, stdout: statusLines('pending'), stderr: '' }
    expect(await sandbox.run('cli/migrate.js', ['status'], env)).toEqual(pending)

    const applied = { code: 0, stdout: migrations.map((name) => `Applied ${name}.\n`).join(''), stderr: '' }
    expect(await sandbox.run('cli/migrate.js', ['deploy'], env)).toEqual(applied)
    expect((await get(service, '/readyz')).status).toBe(200)
    const current = { code: 0, stdout: statusLines('applied'), stderr: '' }
    expect(await sandbox.run('cli/migrate.js', ['status'], env)).toEqual(current)
    const nothing = { code: 0, stdout: 'No pending migrations.\n', stderr: '' }
    expect(await sandbox.run('cli/migrate.js', ['deploy'], env)).toEqual(nothing)
  })

  test('with MIGRATE_ON_START it applies pending migrations', async ({ sandbox, emptyDatabase }) => {
    const service = await sandbox.start({ DATABASE_URL: emptyDatabase, MIGRATE_ON_START: 'true' })
    await waitFor(async () => expect((await get(service, '/readyz')).status).toBe(200))
  })

  test('a copy of dist/, prisma/ and package.json is enough, with tracing, too', async ({ sandbox, emptyDatabase }) => {
    const root = fileURLToPath(new URL('../..', import.meta.url))
    const filter = (path: string) => !path.startsWith(join(root, 'dist/test-')) // other tests create and delete them
    for (const name of ['dist', 'prisma', 'package.json'])
      cpSync(join(root, name), join(sandbox.dataDir, name), { recursive: true, filter })
    const program = (name: string) => join(sandbox.dataDir, 'dist', name)
    const env = {
      DATABASE_URL: emptyDatabase,
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      DRAIN_TIMEOUT_MS: '1',
    }
    expect(await sandbox.run(program('cli/migrate.js'), ['deploy'], env)).toMatchObject({ code: 0, stderr: '' })
    const created = await sandbox.run(program('cli/keys.js'), ['create', '--name', 'web'], env)
    expect(created).toEqual({ code: 0, stdout: expect.stringMatching(keyAlone), stderr: '' })
    const service = await sandbox.start(env, program('main.js'))
    const key = created.stdout.trim()
    expect(await create(service, key, 'Rex')).toMatchObject({ name: 'Rex' })
    const query = encodeURIComponent('{ pets { totalCount nodes { name } } }')
    const response = await get(service, `/graphql?query=${query}`, key)
    expect(await response.json()).toEqual({ data: { pets: { totalCount: 1, nodes: [{ name: 'Rex' }] } } })
    expect((await fetch(`${service.base}/docs`)).status).toBe(200)
    expect(await service.signal('SIGTERM')).toMatchObject({ code: 0, stderr: '' })
  })

  test('SIGTERM: a request in flight completes before the process exits', async ({ sandbox, onTestFinished }) => {
    const databaseUrl = await cloneDatabase()
    onTestFinished(() => dropDatabase(databaseUrl))
    const key = recordKey(await issueKey(databaseUrl))
    const service = await sandbox.start({ DATABASE_URL: databaseUrl, ...longDrain })

    const client = connect(service.port, '127.0.0.1').setEncoding('utf8')
    onTestFinished(() => void client.destroy())
    let received = ''
    client.on('data', (text: string) => (received += text))
    const body = JSON.stringify({ name: 'Rex', categoryId: 1 })
    // The 100 (Continue) proves that the service has the request. HTTP/1.1 connections are persistent.
    client.write(
      [
        'POST /v1/pets HTTP/1.1',
        'Host: localhost',
        `Authorization: Bearer ${key}`,
        'Content-Type: application/json',
        `Content-Length: ${body.length}`,
        'Expect: 100-continue\r\n\r\n',
      ].join('\r\n'),
    )
    await waitFor(() => expect(received).toMatch(/^HTTP\/1\.1 100 /))
    client.write(body.slice(0, 9))
    const ended = service.signal('SIGTERM')
    await waitFor(() => expect(get(service, '/livez')).rejects.toThrow('fetch failed')) // the signal has been handled
    client.write(body.slice(9))
    const end = await ended // it does not wait until the client closes the connection
    expect(received).toMatch(/\r\n\r\nHTTP\/1\.1 201 /)
    const name = databaseOf({ databaseUrl })
    const { rows } = await withClient((sql) => sql.query('SELECT name FROM animal'), name)
    expect(rows).toEqual([{ name: 'Rex' }])
    expect(end).toMatchObject({ code: 0, stderr: '' })
  })
})

test('a second signal during the drain delay stops the process immediately', async ({ sandbox }) => {
  const service = await sandbox.start({ DATABASE_URL: await unreachableDatabaseUrl(), DRAIN_DELAY_MS: '600000' })
  const ended = service.signal('SIGTERM')
  await waitFor(async () => {
    const response = await get(service, '/readyz')
    expect(await response.json()).toMatchObject({ message: 'The service is shutting down.' })
  })
  void service.signal('SIGTERM')
  expect(await ended).toMatchObject({ code: 1 })
})

describe('an invalid configuration', { concurrent: true }, () => {
  const invalid: { variable: string; env: Record<string, string> }[] = [
    { variable: 'PORT', env: { PORT: 'abc' } },
    { variable: 'DATABASE_URL', env: { DATABASE_URL: 'postgresql://x/y?sslrootcert=/nowhere' } },
    { variable: 'DATABASE_URL', env: { DATABASE_URL: 'postgresql://x/y?sslmode=verify-full&sslkey=/nowhere' } },
  ]
  test.for(invalid)(
    'makes the start fail with one line that names $variable',
    async ({ variable, env }, { sandbox }) => {
      const { code, stdout, stderr } = await sandbox.run('main.js', [], env)
      expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
      expect(stderr).toMatch(oneLine)
      expect(stderr).toContain(`: ${variable} `)
    },
  )
})

// Not concurrent with other tests: eight processes are enough load.
test('eight concurrent migrate deploy succeed and apply each migration once', async ({ sandbox, emptyDatabase }) => {
  const database = new URL(emptyDatabase).pathname.slice(1)
  const deploys = Array.from({ length: 8 }, () =>
    sandbox.run('cli/migrate.js', ['deploy'], { DATABASE_URL: emptyDatabase }),
  )
  const ended = await Promise.all(deploys)
  expect(ended.map(({ code, stderr }) => ({ code, stderr }))).toEqual(deploys.map(() => ({ code: 0, stderr: '' })))
  expect(ended.filter(({ stdout }) => stdout !== 'No pending migrations.\n')).toHaveLength(1)
  const query = 'SELECT migration_name FROM _prisma_migrations ORDER BY 1'
  const { rows } = await withClient((client) => client.query(query), database)
  expect(rows).toEqual(migrations.map((migration_name) => ({ migration_name })))
})
