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
 * @param lockMs how long the service waits for a lock
 * @returns how many connections waited all the time
 */
export function whileHeld(url: string, client: Client, work: () => Promise<unknown>, lockMs = 1_000): Promise<number> {
  return inDatabase(url, async (sql) => {
    async function count(): Promise<number> {
      await sql.query('SELECT pg_stat_clear_snapshot()') // a transaction sees the same activity for ever
      return (await sql.query<{ n: number }>(waiting)).rows[0]?.n ?? 0
    }
    await sql.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const holders = Array.from({ length: poolSize }, () => client.send('GET', '/v1/pets'))
    const deadline = performance.now() + 0.8 * lockMs // then the waiting end
    while ((await count()) < poolSize && performance.now() < deadline) await sleep(5)
    const before = await count()
    await work()
    const held = Math.min(before, await count())
    await sql.query('ROLLBACK')
    await Promise.all(holders)
    return held
  })
}

/** That every connection of the pool works, and that there are no more of them than there may be. */
export async function wholePool(url: string, client: Client): Promise<Figure[]> {
  const look = () => whileHeld(url, client, () => Promise.resolve())
  await look() // opens all that may be
  const usable = await look()
  const open = await inDatabase(url, async (sql) => (await sql.query<{ n: number }>(connected)).rows[0]?.n ?? 0)
  return [
    exactly('connections of the pool that work afterwards', usable, poolSize),
    exactly('connections beyond the pool', Math.max(0, open - poolSize), 0),
  ]
}
