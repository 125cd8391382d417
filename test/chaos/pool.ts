import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from './client.ts'
import { inDatabase } from './cluster.ts'
import { exactly, type Figure } from './figures.ts'

/** No request takes longer, whatever happens to the database, in milliseconds. */
export const budgetMs = 5_000

/** DATABASE_POOL_SIZE where nothing is said. */
const poolSize = 10

const waiting = `SELECT count(*)::int AS n FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'pet-store' AND wait_event_type = 'Lock'`
const connected = `SELECT count(*)::int AS n FROM pg_stat_activity
  WHERE datname = current_database() AND application_name = 'pet-store'`

/**
 * Holds the table of animals, so that every connection of the service waits for it, while something is done.
 * Requests that find no connection give up after a second.
 */
export function whileHeld<T>(
  url: string,
  client: Client,
  work: (held: number) => Promise<T>,
  size = poolSize,
): Promise<T> {
  return inDatabase(url, async (sql) => {
    await sql.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const holders = Array.from({ length: size }, () => client.send('GET', '/v1/pets'))
    const deadline = performance.now() + 800 // a lock is waited for no longer than a second
    let held = 0
    while (held < size && performance.now() < deadline) {
      held = (await sql.query<{ n: number }>(waiting)).rows[0]?.n ?? 0
      await sleep(5)
    }
    const result = await work(held)
    await sql.query('ROLLBACK')
    await Promise.all(holders)
    return result
  })
}

/** That every connection of the pool works, and that there are no more of them than there may be. */
export async function wholePool(url: string, client: Client): Promise<Figure[]> {
  const usable = await whileHeld(url, client, (held) => Promise.resolve(held))
  const open = await inDatabase(url, async (sql) => (await sql.query<{ n: number }>(connected)).rows[0]?.n ?? 0)
  return [
    exactly('connections of the pool that work afterwards', usable, poolSize),
    exactly('connections beyond the pool', Math.max(0, open - poolSize), 0),
  ]
}
