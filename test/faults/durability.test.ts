import { tmpdir } from 'node:os'
import { afterEach, beforeEach, test, vi } from 'vitest'
import { kills } from '../chaos/kills.ts'
import { restarts } from '../chaos/restarts.ts'
import { memoryFolder } from '../support/postgres.ts'
import { defer, expectBoundsHold } from './chaos-slices.ts'

// Short versions of `npm run chaos -- kills restarts`, each with its own PostgreSQL. SIGKILL loses nothing that the kernel
// has, so a disk would only be slower.
beforeEach(() => void vi.stubEnv('TMPDIR', memoryFolder() ?? tmpdir()))
afterEach(() => void vi.unstubAllEnvs())

test('SIGKILL of the service loses no acknowledged animal and stores none twice', async () => {
  expectBoundsHold(await kills.run(defer, { kills: 2, databaseKills: 0, acknowledgements: 60, concurrency: 8 }))
})

test('the service survives SIGKILL and restarts of PostgreSQL and terminated connections, with no status but 2xx, 503 and 504, and loses no acknowledged animal', async () => {
  expectBoundsHold(await restarts.run(defer, { rounds: 1, terminateSeconds: 3, concurrency: 4 }))
})
