import { test } from 'vitest'
import { kills } from '../chaos/kills.ts'
import { restarts } from '../chaos/restarts.ts'
import { defer, expectBoundsHold } from './chaos-slices.ts'

// Short versions of `npm run chaos -- kills restarts`, each with its own PostgreSQL that flushes to disk.

test('SIGKILL of the service or of PostgreSQL loses no acknowledged animal and stores none twice', async () => {
  expectBoundsHold(await kills.run(defer, { kills: 2, databaseKills: 1, acknowledgements: 400, concurrency: 8 }))
})

test('the service survives restarts of PostgreSQL and terminated connections, with no status but 2xx, 503 and 504', async () => {
  expectBoundsHold(await restarts.run(defer, { rounds: 1, terminateSeconds: 1, concurrency: 4 }))
})
