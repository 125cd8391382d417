import { expect, test } from 'vitest'
import { createClient } from '../chaos/client.ts'
import { animalsIn } from '../chaos/cluster.ts'
import { acrossInstances } from '../chaos/consistency.ts'
import { startTogether } from '../chaos/firststart.ts'
import { startInstance, PATIENT } from '../chaos/instance.ts'
import { createLedger } from '../chaos/ledger.ts'
import { cloneTestDatabase, defer, expectBoundsHold } from './chaos-slices.ts'

// Short versions of `npm run chaos -- consistency firststart`. The part `rolling` needs a machine of its own.

test('two instances: each returns what the other acknowledged, and one Idempotency-Key creates one animal', async () => {
  expectBoundsHold(await acrossInstances(defer, await cloneTestDatabase(), { creations: 30, keys: 8 }))
})

test('three instances that start concurrently on an empty database: one migrates it, all serve', async () => {
  const { url } = await cloneTestDatabase()
  expectBoundsHold(await startTogether(defer, url, { rounds: 1, instances: 3 }))
})

test('SIGTERM under load: requests succeed until the end of the drain delay, and the exit code is 0 [W16]', async () => {
  const { url, key } = await cloneTestDatabase()
  const instance = await startInstance(defer, { DATABASE_URL: url, ...PATIENT, DRAIN_DELAY_MS: 5_000 })
  const [client, health] = [createClient(instance.port, key, 8), createClient(instance.port, key)]
  defer(() => [client, health].forEach((each) => each.close()))
  const ledger = createLedger()
  const writing = ledger.write(client, 8)
  await ledger.reaches(20)
  const exitCode = instance.stop('SIGTERM')
  let ready = 200
  while (ready === 200) ready = (await health.send('GET', '/readyz')).status
  expect(ready).toBe(503)
  await Promise.race([ledger.reaches(ledger.acknowledged + 20), exitCode])
  await writing.stop()
  expect([...ledger.statuses().keys()]).toEqual([201])
  expect(await exitCode).toBe(0)
  expectBoundsHold(ledger.audit(await animalsIn(url)))
})
