import { test } from 'vitest'
import { troubleNames, underTroubles } from '../chaos/network-faults.ts'
import { cloneStore, defer, expectKept } from './chaos-slices.ts'

// A slice of `npm run chaos -- truth`; silence takes seconds, and has its test in test/database/faults.test.ts.
test('whatever the line to PostgreSQL does: 503 was not executed, 504 may have been, 201 was', async () => {
  const names = troubleNames.filter((name) => !name.startsWith('silence'))
  expectKept(await underTroubles(defer, await cloneStore(), { seconds: 0.5, concurrency: 8 }, names))
})
