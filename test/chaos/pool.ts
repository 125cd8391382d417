import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createClient } from './client.ts'
import { inDatabase } from './cluster.ts'
import { exactly, type Measurement } from './assertions.ts'

/** No request takes longer, whatever happens to the database, in milliseconds. */
export const MAX_RESPONSE_MS = 5_000

/** DATABASE_POOL_SIZE where nothing is said. */
const poolSize = 10

const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'pet-store' AND wait_event_type = 'Lock'`
const connected = `SELECT count(*)::int AS n FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'pet-store'`

/**
 * Holds the table of animals, so that every connection of the service waits for it, while something is done.
 * @returns how many connections waited at once before
 */
export function whilePoolBlocked(url: string, client: Client, work: () => Promise<unknown>): Promise<number> {
  return inDatabase(url, async (sql) => {
    async function count(): Promise<number> {
      await sql.query('SELECT pg_stat_clear_snapshot()') // a transaction sees the same activity for ever
      return (await sql.query<{ n: number }>(waiting)).rows[0]?.n ?? 0
    }
    await sql.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const released = new AbortController()
    // Each asks for another page: the same one would be read once for all.
    async function holder(limit: number): Promise<void> {
      while (!released.signal.aborted) await client.send('GET', `/v1/pets?limit=${limit}`)
    }
    const holders = Array.from({ length: poolSize }, (_, n) => holder(n + 1))
    const deadline = performance.now() + 60_000
    let held = 0
    while (held < poolSize && performance.now() < deadline) {
      held = Math.max(held, await count())
      await sleep(5)
    }
    await work()
    released.abort()
    await sql.query('ROLLBACK')
    await Promise.all(holders)
    return held
  })
}

/** That every connection of the pool works, and that there are no more of them than there may be. */
export async function measurePool(url: string, port: number, key: string): Promise<Measurement[]> {
  const client = createClient(port, key)
  const usable = await whilePoolBlocked(url, client, () => Promise.resolve())
  client.close()
  const open = await inDatabase(url, async (sql) => (await sql.query<{ n: number }>(connected)).rows[0]?.n ?? 0)
  return [
    exactly('connections of the pool that work afterwards', usable, poolSize),
    exactly('connections beyond the pool', Math.max(0, open - poolSize), 0),
  ]
}
