import { test } from 'vitest'
import { kills } from '../chaos/kills.ts'
import { restarts } from '../chaos/restarts.ts'
import { defer, expectBoundsHold } from './chaos-slices.ts'

// Slices of `npm run chaos -- kills restarts`, on a PostgreSQL of their own that flushes to disk.

test('kill -9 of the service and of PostgreSQL under writes: nothing acknowledged is lost, nothing is there twice', async () => {
  expectBoundsHold(await kills.run(defer, { kills: 2, databaseKills: 1, acknowledgements: 400, concurrency: 8 }))
})

test('PostgreSQL restarts and its connections end under load: only 2xx, 503 and 504, well again by itself', async () => {
  expectBoundsHold(await restarts.run(defer, { rounds: 1, terminateSeconds: 1, concurrency: 4 }))
})
