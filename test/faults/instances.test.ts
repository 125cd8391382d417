import { expect, test } from 'vitest'
import { createClient } from '../chaos/client.ts'
import { animalsIn } from '../chaos/cluster.ts'
import { acrossInstances } from '../chaos/consistency.ts'
import { startTogether } from '../chaos/firststart.ts'
import { startInstance, UNHURRIED } from '../chaos/instance.ts'
import { createLedger } from '../chaos/ledger.ts'
import { cloneTestDatabase, defer, expectBoundsHold } from './chaos-slices.ts'

// Slices of `npm run chaos -- consistency firststart`. A rolling restart wants a machine of its own: `-- rolling`.

test('two instances: what one acknowledged the other shows at once; one Idempotency-Key, one animal', async () => {
  expectBoundsHold(await acrossInstances(defer, await cloneTestDatabase(), { creations: 60, keys: 15 }))
})

test('three instances start at once on an empty database: one migrates, all serve', async () => {
  const { url } = await cloneTestDatabase()
  expectBoundsHold(await startTogether(defer, url, { rounds: 1, instances: 3 }))
})

test('SIGTERM under load: new requests are served until the drain ends, each is answered, exit 0', async () => {
  const { url, key } = await cloneTestDatabase()
  const instance = await startInstance(defer, { DATABASE_URL: url, ...UNHURRIED, DRAIN_DELAY_MS: 10_000 })
  const [client, health] = [createClient(instance.port, key, 8), createClient(instance.port, key)]
  defer(() => [client, health].forEach((one) => one.close()))
  const ledger = createLedger()
  const writing = ledger.write(client, 8)
  await ledger.reaches(20)
  const ended = instance.end('SIGTERM')
  let ready = 200
  while (ready === 200) ready = (await health.send('GET', '/readyz')).status
  expect(ready).toBe(503)
  await Promise.race([ledger.reaches(ledger.acknowledged + 20), ended])
  await writing.stop()
  expect([...ledger.statuses().keys()]).toEqual([201])
  expect(await ended).toBe(0)
  expectBoundsHold(ledger.audit(await animalsIn(url)))
})
