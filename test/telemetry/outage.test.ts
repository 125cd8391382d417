import { expect, onTestFinished, vi } from 'vitest'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { databaseOf, testWithService as test } from '../support/harness.ts'
import { waitUntil } from '../support/timeouts.ts'

test('an outage and its end are logged without a probe, failed requests once a second', async ({ service }) => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { peer, proxy } = await startBehindProxy(service)
  await peer.send('/v1/pets') // caches the key
  await proxy.down()
  const warnings = (msg: string) => peer.log.lines.filter((line) => line.msg === msg)
  const failures = () => warnings('The database is not available. Nothing was changed.')
  const failed = () => failures().reduce((sum, { count }) => sum + Number(count), 0)
  for (let n = 0; n < 60; n++) expect((await peer.send('/v1/pets')).status).toBe(503)
  await waitUntil(() => failed() === 60)
  expect(failures().length).toBeLessThan(30)
  vi.advanceTimersByTime(60_000)
  await waitUntil(() => warnings('database unavailable').length)
  for (let n = 0; n < 3; n++) expect((await peer.send('/readyz')).status).toBe(503)
  await proxy.up()
  vi.advanceTimersByTime(60_000)
  await waitUntil(() => warnings('database available again').length)
  const { host } = new URL(proxy.url)
  const outage = warnings('database unavailable')
  expect(new Set(outage.map((line) => line.host))).toEqual(new Set([host]))
  expect(new Set(outage.map(({ reason }) => reason)).size).toBe(outage.length)
  expect(JSON.stringify([...failures(), ...outage])).not.toMatch(/stack|postgresql:/)
})

test('a setting that can lose an acknowledged write is one warning with its name', async ({ service }) => {
  await service.database.pool.query(`ALTER DATABASE ${databaseOf(service)} SET synchronous_commit = off`)
  const peer = await service.startPeer()
  for (let n = 0; n < 3; n++) expect((await peer.send('/readyz')).status).toBe(200)
  const warnings = peer.log.lines.filter(({ msg }) => msg === 'acknowledged writes can be lost')
  expect(warnings).toMatchObject([{ level: 40, reason: expect.stringContaining('synchronous_commit') }])
})
