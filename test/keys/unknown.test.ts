import { describe, expect, vi } from 'vitest'
import { createClient } from '../chaos/client.ts'
import { openLine } from '../chaos/line.ts'
import { mintKey } from '../../src/keys/key.ts'
import { startService, test } from '../harness.ts'

describe('while the database is down', () => {
  test('a key that nobody asked for before is 503, never 401; one that is known counts for five seconds', async ({
    running,
    onTestFinished,
  }) => {
    const line = await openLine(running.databaseUrl)
    const stops: (() => Promise<void>)[] = []
    onTestFinished(() => stops[0]?.())
    const { base } = await startService(line.url, stops, { key: running.key })
    const ask = async (key: string, path = '/v1/pets?limit=0') =>
      (await fetch(base + path, { headers: { Authorization: `Bearer ${key}` } })).status
    expect(await ask(running.key)).toBe(400)
    const known = performance.now()
    await line.down()
    expect(await ask(running.key)).toBe(400) // believed, and refused for its limit without asking the database
    expect(await Promise.all([ask(mintKey()), ask(mintKey(), '/graphql'), ask('Bearer x')])).toEqual([503, 503, 401])
    // Past its time it is not accepted any more, and not called wrong either.
    await vi.waitFor(async () => expect(await ask(running.key)).toBe(503), { timeout: 8_000, interval: 200 })
    expect(performance.now() - known).toBeGreaterThan(4_500)
    await line.up()
    expect([await ask(running.key), await ask(mintKey())]).toEqual([400, 401])
  })
})

describe('a flood of wrong keys', () => {
  test('is 401 each; one whose checksum is wrong costs no query', { timeout: 60_000 }, async ({ running }) => {
    const client = createClient(running.port, '', 16)
    const flood = async (count: number, wrong: () => string) => {
      const sent = Array.from({ length: count }, () =>
        client.send('GET', '/v1/pets', undefined, { Authorization: `Bearer ${wrong()}` }),
      )
      return new Set((await Promise.all(sent)).map(({ status }) => status))
    }
    const queries = vi.spyOn(running.service.database.pool, 'query')
    expect(await flood(2_000, () => mintKey().replace(/.$/, '_'))).toEqual(new Set([401]))
    expect(queries).not.toHaveBeenCalled()
    expect(await flood(500, mintKey)).toEqual(new Set([401]))
    expect(queries).toHaveBeenCalledTimes(500)
    client.close()
  })
})
