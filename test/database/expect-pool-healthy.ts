import { expect } from 'vitest'
import type { TestService } from '../support/harness.ts'

/** That every connection of the pool is there to be had and works, and that nobody waits for one any more. */
export async function expectPoolHealthy({ database }: TestService): Promise<void> {
  const { pool } = database
  const clients = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
  try {
    for (const client of clients) expect((await client.query('SELECT 1 AS n')).rows).toEqual([{ n: 1 }])
  } finally {
    clients.forEach((client) => client.release())
  }
  const { max } = pool.options
  expect(pool).toMatchObject({ totalCount: max, idleCount: max, waitingCount: 0 })
}
