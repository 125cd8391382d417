import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from './client.ts'
import { inDatabase } from '../support/postgres.ts'
import { exactly, type Measurement } from './assertions.ts'

/** Upper bound of the response time under any database fault, in milliseconds. */
export const MAX_RESPONSE_MS = 5_000

/** The default of DATABASE_POOL_SIZE. */
const POOL_SIZE = 10

/** More than a read waits for a batch that hangs. */
const BATCH_WAIT_MS = 150

/** A read for each statement of reads, together half as many as POOL_SIZE. Equal ones would be coalesced. */
function readsOf(n: number): Parameters<Client['send']>[] {
  const query = (args: string) => JSON.stringify({ query: `{ a${n}: pets(${args}) { nodes { id } } }` })
  return [
    ['GET', `/v1/pets?limit=${n}`],
    ['GET', `/v1/pets?status=sold&limit=${n}`],
    ['GET', `/v1/pets/${n}`],
    ['POST', '/graphql', query('last: 1')],
    ['POST', '/graphql', query('last: 1, status: sold')],
  ]
}

const COUNT_BLOCKED = `SELECT count(*)::int AS n FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'pet-store' AND wait_event_type = 'Lock'`
const COUNT_CONNECTIONS = `SELECT count(*)::int AS n FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'pet-store'`

/**
 * Runs `work` while every connection of the service waits for a lock of the table animal.
 * @returns the number of connections that waited at the same time
 */
export function whilePoolBlocked(url: string, client: Client, work: () => Promise<unknown>): Promise<number> {
  return inDatabase(url, async (sql) => {
    async function countBlocked(): Promise<number> {
      await sql.query('SELECT pg_stat_clear_snapshot()') // without this, a transaction keeps its first snapshot of the activity
      return (await sql.query<{ n: number }>(COUNT_BLOCKED)).rows[0]?.n ?? 0
    }
    await sql.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const released = new AbortController()
    let blockedNow = 0
    const send = (n: number) => readsOf(n).map((request) => client.send(...request))
    // Both reads of a statement start again together: on a slow machine, one that is repeated alone would come to share
    // the statement of the other, and its connection, for good.
    async function sendInRounds(): Promise<void> {
      while (!released.signal.aborted) {
        const first = send(1)
        const round = { isOver: false }
        void Promise.race(first).finally(() => (round.isOver = true))
        while (blockedNow < first.length && !round.isOver) await sleep(5)
        await sleep(BATCH_WAIT_MS) // the next reads wait no longer for a batch, and take another connection each
        await Promise.all([...first, ...send(2)])
        await sleep(5) // for requests that are shed
      }
    }
    const blocked = sendInRounds()
    const deadline = performance.now() + 60_000
    let waiting = 0
    while (waiting < POOL_SIZE && performance.now() < deadline) {
      blockedNow = await countBlocked()
      waiting = Math.max(waiting, blockedNow)
      await sleep(5)
    }
    await work()
    released.abort()
    await sql.query('ROLLBACK')
    await blocked
    return waiting
  })
}

/** One for counts, and three for what runs in the background. */
const OTHER_CONNECTIONS = 4

/**
 * Measures whether every connection of the pool works, and whether there are more connections than allowed.
 * @param instances the number of instances that use the database
 */
export async function measurePool(url: string, port: number, key: string, instances = 1): Promise<Measurement[]> {
  const client = createClient(port, key)
  const usable = await whilePoolBlocked(url, client, () => Promise.resolve())
  client.close()
  const open = await inDatabase(url, async (sql) => (await sql.query<{ n: number }>(COUNT_CONNECTIONS)).rows[0]?.n ?? 0)
  return [
    exactly('connections of the pool that work at the end', usable, POOL_SIZE),
    exactly('connections beyond the pool', Math.max(0, open - instances * (POOL_SIZE + OTHER_CONNECTIONS)), 0),
  ]
}
