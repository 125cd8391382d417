import { restoreRows, runSql } from '../database.ts'
import { successesOf } from '../load/load.ts'
import { closedLoop, openLoop } from '../load/sockets.ts'
import type { Server } from '../servers.ts'
import { requestsOf, workloads } from '../workloads.ts'
import { againstPeak, factors, type Outcome, outcomeOf, slowestLivez } from './outcome.ts'
import type { Settings } from './overload.ts'

/** As many at once as keep the server's ten database connections busy, and few more: what it can do. */
const BUSY = 20

/** An open workload: requests arrive at a rate, independent of the response times, and each write takes a while. */
export async function moreRequests({ seconds, warmup, rows }: Settings, server: Server): Promise<Outcome[]> {
  await runSql(server.databaseUrl, [
    'CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.05); RETURN NEW; END $$',
    'CREATE TRIGGER slow BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION slow()',
  ])
  const all: Outcome[] = []
  for (const workload of workloads.filter(({ action }) => action === 'create')) {
    const requests = requestsOf(workload, server.variant.dialect, rows)
    const name = `${workload.name}, slow database`
    const busy = { server, requests, connections: BUSY }
    if (warmup) await closedLoop({ ...busy, seconds: warmup })
    const [most, livezMs] = await Promise.all([closedLoop({ ...busy, seconds }), slowestLivez(server, seconds)])
    all.push(outcomeOf({ name, load: `${BUSY} connections` }, most, { livezMs }))

    for (const factor of factors) {
      const rate = Math.round((factor * successesOf(most)) / most.seconds)
      const [result, livezMs] = await Promise.all([
        openLoop(server, requests, { rate, seconds }),
        slowestLivez(server, seconds),
      ])
      const { times, lateMs, okInTime } = result
      const goodput = okInTime / seconds
      all.push(outcomeOf({ name, load: `${rate} requests/s` }, result, { times, livezMs, lateMs, goodput }))
      await restoreRows(server.databaseUrl, rows)
    }
  }
  return againstPeak(all)
}
