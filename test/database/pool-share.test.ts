import { expect } from 'vitest'
import { createPool } from '../../src/database/pool.ts'
import { testWithService as test } from '../support/harness.ts'

const WAIT_MS = 200
const timeouts = {
  checkoutTimeoutMs: WAIT_MS,
  lockTimeoutMs: 60_000,
  statementTimeoutMs: 60_000,
  queryTimeoutMs: 60_000,
}

test('a share of a pool leaves the other connections free, and what waits for it too long fails as for a connection', async ({
  service,
}) => {
  const pool = createPool({ url: service.databaseUrl, size: 2, timeouts })
  try {
    const share = pool.share(1)
    let release = () => {}
    const held = share.withConnection(() => new Promise<void>((resolve) => (release = resolve)))
    await expect(share.withConnection(async () => 'late')).rejects.toMatchObject({ code: 'NOT_CONNECTED' })
    expect(await pool.withConnection(async (client) => (await client.query('SELECT 1')).rowCount)).toBe(1)
    const next = share.withConnection(async () => 'next')
    release()
    await held
    expect(await next).toBe('next')
    expect(await share.withConnection(async () => 'later')).toBe('later')
  } finally {
    await pool.end()
  }
})
