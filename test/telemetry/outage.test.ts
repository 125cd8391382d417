import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { mintKey } from '../../src/auth/api-key.ts'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { testWithService as test } from '../support/harness.ts'
import { testWithProcess, unreachableDatabaseUrl } from '../support/processes.ts'
import { waitUntil } from '../support/timeouts.ts'

const parse = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)

testWithProcess(
  'a database that cannot be reached is one warning at the start, with its host and without the password',
  async ({ sandbox }) => {
    const url = await unreachableDatabaseUrl()
    const service = await sandbox.start({ DATABASE_URL: url })
    await service.until((text) => text.includes('database unavailable'))
    await sleep(1_500) // it is checked again, and not logged again
    const { stdout } = await service.signal('SIGTERM')
    const warnings = parse(stdout).filter(({ level }) => level === 40)
    const { host } = new URL(url)
    expect(warnings).toMatchObject([{ msg: 'database unavailable', host, reason: `connect ECONNREFUSED ${host}` }])
    expect(stdout).not.toContain('secret')
  },
)

testWithProcess(
  'an empty database is a warning that says what to do; requests get 503, and again when it is migrated',
  async ({ sandbox, emptyDatabase }) => {
    const service = await sandbox.start({ DATABASE_URL: emptyDatabase })
    const log = await service.until((text) => text.includes('database unavailable'))
    expect(log).toMatch(/the schema lacks \d+ migration\(s\): npm run migrate -- deploy/)
    const headers = { Authorization: `Bearer ${mintKey()}` }
    const response = await fetch(`${service.base}/v1/pets`, { headers })
    expect(await response.json()).toMatchObject({
      status: 503,
      message: expect.stringContaining('schema is out of date'),
    })
    await sandbox.run('cli/migrate.js', ['deploy'], { DATABASE_URL: emptyDatabase })
    await service.until((text) => text.includes('database available again'))
  },
)

test('an outage is logged once, then one line a second counts the requests that fail, and its end is logged', async ({
  service,
}) => {
  const { peer, proxy } = await startBehindProxy(service)
  await peer.send('/v1/pets') // caches the key
  await proxy.down()
  const warnings = (msg: string) => peer.log.lines.filter((line) => line.msg === msg)
  const failures = () => warnings('The database is not available. Nothing was changed.')
  const failed = () => failures().reduce((sum, { count }) => sum + Number(count), 0)
  for (let n = 0; n < 60; n++) expect((await peer.send('/v1/pets')).status).toBe(503)
  await waitUntil(() => failed() === 60)
  expect(failures().length).toBeLessThan(30)
  expect(JSON.stringify(peer.log.lines.filter(({ level }) => level === 40))).not.toContain('stack')
  await waitUntil(() => warnings('database unavailable').length)
  await proxy.up()
  await waitUntil(() => warnings('database available again').length)
  const { host } = new URL(proxy.url)
  const outage = warnings('database unavailable')
  expect(new Set(outage.map((line) => line.host))).toEqual(new Set([host]))
  expect(new Set(outage.map(({ reason }) => reason)).size).toBe(outage.length)
})
