import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from './client.ts'
import { inDatabase } from './cluster.ts'
import { exactly, type Measurement } from './assertions.ts'

/** Upper bound of the response time under any database fault, in milliseconds. */
export const MAX_RESPONSE_MS = 5_000

/** The default of DATABASE_POOL_SIZE. */
const POOL_SIZE = 10

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
    // A list waits for a statement that hangs for a tenth of a second, then for another connection. The limits differ,
    // since equal reads would be coalesced.
    async function blockConnection(n: number): Promise<void> {
      while (!released.signal.aborted) {
        await client.send('GET', `/v1/pets?limit=${n}`)
        await sleep(5) // for requests that are shed
      }
    }
    const blocked = Array.from({ length: POOL_SIZE }, (_, n) => blockConnection(n + 1))
    const deadline = performance.now() + 60_000
    let waiting = 0
    while (waiting < POOL_SIZE && performance.now() < deadline) {
      waiting = Math.max(waiting, await countBlocked())
      await sleep(5)
    }
    await work()
    released.abort()
    await sql.query('ROLLBACK')
    await Promise.all(blocked)
    return waiting
  })
}

/** The readiness probe and the log of outages use a connection of their own. */
const READINESS_CONNECTIONS = 1

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
    exactly('connections beyond the pool', Math.max(0, open - instances * (POOL_SIZE + READINESS_CONNECTIONS)), 0),
  ]
}
