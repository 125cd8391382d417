import { expect, test } from 'vitest'
import { acrossInstances } from '../chaos/consistency.ts'
import { startTogether } from '../chaos/firststart.ts'
import { hasHaproxy } from '../chaos/haproxy.ts'
import { rollUnderLoad } from '../chaos/rolling.ts'
import { cloneStore, defer, expectKept } from './slices.ts'

// Slices of `npm run chaos -- consistency firststart rolling`.

test(
  'two instances: what one acknowledged the other shows at once; one Idempotency-Key, one animal',
  {
    timeout: 60_000,
  },
  async () => {
    expectKept(await acrossInstances(defer, await cloneStore(), { creations: 60, keys: 15 }))
  },
)

test('three instances start at once on an empty database: one migrates, all serve', { timeout: 60_000 }, async () => {
  const { url } = await cloneStore()
  expectKept(await startTogether(defer, url, { rounds: 1, instances: 3 }))
})

test.runIf(hasHaproxy)(
  'two instances behind HAProxy restart one after the other: no request fails',
  {
    timeout: 90_000,
  },
  async () => {
    const figures = await rollUnderLoad(defer, await cloneStore(), { rounds: 1, rate: 40, drainMs: 5_000 })
    // How steady the rate is says something of the machine, not of the service.
    expectKept(figures.filter(({ name }) => name !== 'requests a second'))
  },
)

test.runIf(!hasHaproxy)(
  'HAProxy is not installed here: the rolling restart is not tried (apt-get install haproxy)',
  () => {
    expect(hasHaproxy).toBe(false)
  },
)
