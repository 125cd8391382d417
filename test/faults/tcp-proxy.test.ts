import { test } from 'vitest'
import { faultNames, runUnderFaults } from '../chaos/network-faults.ts'
import { cloneTestDatabase, defer, expectBoundsHold } from './chaos-slices.ts'

// A short version of `npm run chaos -- network-faults`, without silence, which takes seconds: test/database/faults.test.ts tests it.
test('under network faults between the service and PostgreSQL, 201 means executed, 503 not executed, 504 unknown', async () => {
  const names = faultNames.filter((name) => !name.startsWith('silence'))
  expectBoundsHold(await runUnderFaults(defer, await cloneTestDatabase(), { seconds: 0.5, concurrency: 8 }, names))
})
