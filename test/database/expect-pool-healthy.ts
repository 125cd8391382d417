import { expect } from 'vitest'
import type { TestService } from '../support/harness.ts'

/** Expects that every connection of the pool is available and works, and that no request waits for one. */
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
