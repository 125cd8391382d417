import { describe, expect, onTestFinished } from 'vitest'
import { listMigrations } from '../src/database/migrate.ts'
import { issueKey } from './chaos/cluster.ts'
import { cloneDatabase, dropDatabase, withClient, databaseOf } from './support/harness.ts'
import { recordKey } from './support/output.ts'
import { freePort, INHERITED, kill, occupyPort, testWithProcess as test } from './support/processes.ts'
import { waitFor, waitUntil } from './support/timeouts.ts'

describe('several workers', () => {
  test('share a port and their metrics; a killed worker is replaced; SIGTERM stops them all gracefully', async ({
    sandbox,
    emptyDatabase,
  }) => {
    const PORT = String(await freePort()) // With PORT=0, a replaced worker could listen on another port.
    const env = { DATABASE_URL: emptyDatabase, PORT, WORKERS: '2', MIGRATE_ON_START: 'true' }
    const service = await sandbox.start(env)
    await waitFor(async () => expect((await fetch(`${service.base}/readyz`)).status).toBe(200))
    const headers = { Authorization: `Bearer ${recordKey(await issueKey(emptyDatabase))}` }
    const metric = async (name: string) => {
      const text = await (await fetch(`${service.base}/metrics`, { headers })).text()
      return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
    }
    const bothServe = async () => expect(await metric('petstore_database_connections_max')).toBe(20)
    await waitFor(bothServe)

    const pid = Number(/"pid":(\d+)[^\n]*"msg":"listening"/.exec(service.printed)?.[1])
    expect(kill(pid, 'SIGKILL')).toBe(true)
    await waitUntil(() => !kill(pid, 0))
    await waitFor(bothServe) // the killed worker is not counted
    expect((await fetch(`${service.base}/v1/pets`, { headers })).status).toBe(200)

    const end = await service.signal('SIGTERM')
    expect(end).toMatchObject({ code: 0, stderr: '' })
    expect(end.stdout).toContain(`"worker":${pid},"code":null,"signal":"SIGKILL","msg":"worker exited"`)
    const left = await withClient((client) =>
      client.query('SELECT 1 FROM pg_stat_activity WHERE datname = $1', [new URL(emptyDatabase).pathname.slice(1)]),
    )
    expect(left.rowCount).toBe(0)
  })

  test.for([
    ['the first worker begins to listen', `cluster.once('listening', signal)`],
    ['another one is starting', `cluster.on('fork', ({ id }) => id === 2 && signal())`],
    [
      'another one is starting, which gets it, too,',
      `cluster.on('fork', (w) => w.id === 2 && (signal(), w.process.kill()))`,
    ],
  ])('a signal that arrives while %s stops all of them', async ([, when], { sandbox, emptyDatabase }) => {
    const signal = `import cluster from 'node:cluster'
      const signal = () => process.emit('SIGTERM', 'SIGTERM')
      if (cluster.isPrimary) ${when}`
    const NODE_OPTIONS = `${INHERITED.NODE_OPTIONS} --import=data:text/javascript,${encodeURIComponent(signal)}`
    const { code, stdout } = await sandbox.run('main.js', [], {
      DATABASE_URL: emptyDatabase,
      WORKERS: '2',
      NODE_OPTIONS,
    })
    expect([code, stdout]).toEqual([0, expect.stringMatching(/"msg":"stopped"\}\n$/)])
  })

  test('that cannot listen exits with one line, like a single process', async ({ sandbox, emptyDatabase }) => {
    const { server, port } = await occupyPort()
    onTestFinished(() => void server.close())
    const taken = { DATABASE_URL: emptyDatabase, WORKERS: '2', PORT: String(port) }
    for (const env of [taken, { ...taken, METRICS_PORT: String(await freePort()) }]) {
      const { code, stderr } = await sandbox.run('main.js', [], env)
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^PORT [^\n]+\n$/) })
    }
    const env = { ...taken, PORT: '0', METRICS_PORT: String(port) }
    const { code, stderr } = await sandbox.run('main.js', [], env)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^METRICS_PORT [^\n]+\n$/) })
  })

  test('serves no incomplete metrics while a worker does not respond', async ({ sandbox, emptyDatabase }) => {
    const port = await freePort()
    const service = await sandbox.start({ DATABASE_URL: emptyDatabase, WORKERS: '2', METRICS_PORT: String(port) })
    const metrics = () => fetch(`http://127.0.0.1:${port}/metrics`)
    await waitFor(async () => expect(await (await metrics()).text()).toMatch(/^petstore_\w+_max 20$/m))
    const pid = Number(/"pid":(\d+)[^\n]*"msg":"listening"/.exec(service.printed)?.[1])
    kill(pid, 'SIGSTOP')
    // Some of these requests may reach the worker that is stopped.
    const response = await Promise.any([metrics(), metrics(), metrics()])
    kill(pid, 'SIGCONT')
    expect([response.status, await response.json()]).toEqual([503, expect.objectContaining({ code: 'UNAVAILABLE' })])
  })

  test('a migration that the database rejects for now is logged once, and tried again', async ({
    sandbox,
    emptyDatabase,
  }) => {
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

  test.for(['1', '2'])(
    'with a failing migration: %s worker(s) stay alive, not ready, and each tries it once',
    async (workers, { sandbox }) => {
      const databaseUrl = await cloneDatabase()
      onTestFinished(() => dropDatabase(databaseUrl))
      const sql = (text: string) => withClient((client) => client.query(text), databaseOf({ databaseUrl }))
      const last = listMigrations().at(-1) // the tables of this migration exist already
      await sql(`DELETE FROM _prisma_migrations WHERE migration_name = '${last}'`)
      const service = await sandbox.start({ DATABASE_URL: databaseUrl, WORKERS: workers, MIGRATE_ON_START: 'true' })
      const failures = (printed: string) => printed.match(/"msg":"migration failed/g)?.length
      await service.until((printed) => failures(printed) === Number(workers))
      await new Promise((resolve) => setTimeout(resolve, 2_000)) // a retry would come after 1 second
      const status = async (path: string) => (await fetch(service.base + path)).status
      expect([await status('/livez'), await status('/readyz')]).toEqual([200, 503])
      const { code, stdout, stderr } = await service.signal('SIGTERM')
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(failures(stdout)).toBe(Number(workers))
    },
  )
})
