import { restoreRows } from '../database.ts'
import type { Loader } from '../load/load.ts'
import { openLoop } from '../load/sockets.ts'
import type { Server } from '../servers.ts'
import { requestsOf, workloads } from '../workloads.ts'
import { againstPeak, factors, type Outcome, outcomeOf, slowestLivez } from './outcome.ts'
import type { Settings } from './overload.ts'

/** How many requests a second are timed by status beside a load of wrk, which cannot tell. */
const WITNESSES = 50

/** A closed workload: clients send the next request as soon as they have a response, with growing concurrency. */
export async function moreConnections(
  { connections, seconds, warmup, rows }: Settings,
  load: Loader,
  server: Server,
): Promise<Outcome[]> {
  const all: Outcome[] = []
  for (const workload of workloads.filter(
    ({ action, spread }) => action === 'create' || (action === 'list' && spread),
  )) {
    const requests = requestsOf(workload, server.variant.dialect, rows)
    for (const factor of factors) {
      if (warmup) await load({ server, requests: requests, connections, seconds: warmup })
      const [result, witness, livezMs] = await Promise.all([
        load({ server, requests: requests, connections: connections * factor, seconds, statuses: true }),
        openLoop(server, requests, { rate: WITNESSES, seconds }),
        slowestLivez(server, seconds),
      ])
      const name = { name: workload.name, load: `${connections * factor} connections` }
      all.push(outcomeOf(name, result, { times: witness.times, livezMs }))
      await restoreRows(server.databaseUrl, rows)
    }
  }
  return againstPeak(all)
}
