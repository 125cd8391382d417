import type { Cleanup } from '../cleanup.ts'
import type { Postgres } from '../database.ts'
import type { Loader } from '../load/load.ts'
import { type Server, startServer } from '../servers.ts'
import { variants } from '../variants.ts'
import { moreConnections } from './connections.ts'
import type { Outcome } from './outcome.ts'
import { moreRequests } from './requests.ts'

/** Sizes of the loads: connections for the closed workload, requests per second for the open one. */
export interface Settings {
  connections: number
  seconds: number
  warmup: number
  rows: number
}

/** Measures only the service, under more load than it can serve. */
export async function overload(
  settings: Settings,
  load: Loader,
  postgres: Postgres,
  cleanup: Cleanup,
): Promise<Outcome[]> {
  const [service] = variants
  if (!service) throw new Error('The service comes first')
  const start = async (database: string): Promise<Server> =>
    startServer(service, postgres, await postgres.create(database, settings.rows), cleanup)

  const usual = await start('bench')
  const closed = await moreConnections(settings, load, usual)
  await usual.stop()
  const slow = await start('slow')
  const open = await moreRequests(settings, slow)
  await slow.stop()
  return [...closed, ...open]
}
