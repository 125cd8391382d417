import { test } from 'vitest'
import { faultNames, runUnderFaults } from '../chaos/network-faults.ts'
import { cloneTestDatabase, defer, expectBoundsHold } from './chaos-slices.ts'

// A slice of `npm run chaos -- network-faults`; silence takes seconds, and has its test in test/database/faults.test.ts.
test('under network faults between service and PostgreSQL: 503 was not executed, 504 may have been, 201 was', async () => {
  const names = faultNames.filter((name) => !name.startsWith('silence'))
  expectBoundsHold(await runUnderFaults(defer, await cloneTestDatabase(), { seconds: 0.5, concurrency: 8 }, names))
})
