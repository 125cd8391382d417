import { test } from 'vitest'
import { acrossInstances } from '../chaos/consistency.ts'
import { startTogether } from '../chaos/firststart.ts'
import { cloneStore, defer, expectKept } from './slices.ts'

// Slices of `npm run chaos -- consistency firststart`. A rolling restart wants a machine of its own: `-- rolling`.

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
