import { describe, expect, vi } from 'vitest'
import { issueKey } from './chaos/cluster.ts'
import { onServer } from './harness.ts'
import { keepKey } from './output.ts'
import { kill, occupyPort, test } from './processes.ts'

describe('several workers', { timeout: 60_000 }, () => {
  test('share a port and their metrics; one that is killed is replaced; SIGTERM ends them all in order', async ({
    sandbox,
    emptyDatabase,
  }) => {
    const env = { DATABASE_URL: emptyDatabase, WORKERS: '2', MIGRATE_ON_START: 'true' }
    const service = await sandbox.start(env)
    const ready = async () => expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
    await vi.waitFor(ready, 20_000)
    const headers = { Authorization: `Bearer ${keepKey(await issueKey(emptyDatabase))}` }
    const metric = async (name: string) => {
      const text = await (await fetch(`${service.base}/metrics`, { headers })).text()
      return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1])
    }
    const bothServe = async () => expect(await metric('petstore_database_connections_max')).toBe(20)
    await vi.waitFor(bothServe, 20_000)

    const pid = Number(/"pid":(\d+)[^\n]*"msg":"listening"/.exec(service.printed)?.[1])
    expect(kill(pid, 'SIGKILL')).toBe(true)
    await vi.waitUntil(() => !kill(pid, 0), 20_000)
    await vi.waitFor(bothServe, 20_000) // the dead one does not count
    expect((await fetch(`${service.base}/v1/pets`, { headers })).status).toBe(200)

    expect(await service.signal('SIGTERM')).toMatchObject({ code: 0, stderr: '' })
    const left = await onServer((client) =>
      client.query('SELECT 1 FROM pg_stat_activity WHERE datname = $1', [new URL(emptyDatabase).pathname.slice(1)]),
    )
    expect(left.rowCount).toBe(0)
  })

  test('that cannot listen end with one line, as one process does', async ({
    sandbox,
    emptyDatabase,
    onTestFinished,
  }) => {
    const { server, port } = await occupyPort()
    onTestFinished(() => void server.close())
    const env = { DATABASE_URL: emptyDatabase, WORKERS: '2', PORT: String(port) }
    const { code, stderr } = await sandbox.run('main.js', [], env)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^PORT [^\n]+\n$/) })
  })
})
