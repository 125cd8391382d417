import { test } from 'vitest'
import { streamUnderFaults } from '../chaos/live-faults.ts'
import { cloneTestDatabase, defer, expectBoundsHold } from './chaos-slices.ts'

// A short version of a piece of `npm run chaos -- live`; stream-audit.test.ts shows that its audit finds a loss.
test('streams miss and repeat nothing, while an instance is killed and connections are cut', async () => {
  const sizes = { instances: 2, streams: 6, kills: 1, databaseKills: 0, networkFaults: 1, pauseMs: 0 }
  expectBoundsHold(await streamUnderFaults(defer, await cloneTestDatabase(), sizes))
})
