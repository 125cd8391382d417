import { once } from 'node:events'
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pino } from 'pino'
import { describe, expect, vi } from 'vitest'
import { openLine } from '../chaos/tcp-proxy.ts'
import { loadConfig } from '../../src/config.ts'
import { mintKey } from '../../src/auth/api-key.ts'
import { type Running, startService, test } from '../support/harness.ts'

/** A slow machine takes seconds for a thousand lookups. */
const LONG_TIMEOUTS = {
  ...loadConfig({}).timeouts,
  checkoutMs: 60_000,
  queryMs: 60_000,
  handlerMs: 60_000,
}

describe('while the database is down', () => {
  test('a key without a cached lookup is 503, never 401; a cached one is valid for five seconds', async ({
    running,
    onTestFinished,
  }) => {
    const line = await openLine(running.databaseUrl)
    const stops: (() => Promise<void>)[] = []
    onTestFinished(() => stops[0]?.())
    const { base } = await startService(line.url, stops, { key: running.key })
    const ask = async (key: string, path = '/v1/pets?limit=0') =>
      (await fetch(base + path, { headers: { Authorization: `Bearer ${key}` } })).status
    const lookedUpAfter = performance.now()
    expect(await ask(running.key)).toBe(400)
    await line.down()
    expect(await ask(running.key)).toBe(400) // the cached key is valid, and the invalid limit needs no query
    expect(await Promise.all([ask(mintKey()), ask(mintKey(), '/graphql'), ask('Bearer x')])).toEqual([503, 503, 401])
    // After the TTL the key is neither accepted nor called invalid.
    await vi.waitFor(async () => expect(await ask(running.key)).toBe(503), { timeout: 8_000, interval: 200 })
    expect(performance.now() - lookedUpAfter).toBeGreaterThan(4_500)
    await line.up()
    expect([await ask(running.key), await ask(mintKey())]).toEqual([400, 401])
  })
})

describe('ten thousand different invalid keys', () => {
  test(
    'are 401 each, retain no memory, and cost no query when the checksum is wrong',
    { timeout: 60_000 },
    async ({ running }) => {
      const service = await running.another({ log: pino({ level: 'silent' }), timeouts: LONG_TIMEOUTS })
      const queries = vi.spyOn(service.service.database.pool, 'query')
      await flood(service, 4_000, misprinted) // warms up
      const before = heap()
      await flood(service, 6_000, misprinted)
      expect(heap() - before).toBeLessThan(400_000) // bytes: less than a key each
      expect(queries).not.toHaveBeenCalled()
      await flood(service, 1_000, mintKey)
      expect(queries).toHaveBeenCalledTimes(1_000)
    },
  )
})

const misprinted = () => mintKey().replace(/.$/, '_')

/** Sends so many wrong keys over one connection, without waiting for the answers, and holds each of them to 401. */
async function flood({ port }: Running, count: number, wrong: () => string): Promise<void> {
  const client = connect(port, '127.0.0.1').setEncoding('latin1')
  const closed = once(client, 'close')
  const refusal = 'HTTP/1.1 401 '
  let [refused, rest] = [0, '']
  client.on('data', (text: string) => {
    refused += (rest + text).split(refusal).length - 1
    rest = (rest + text).slice(1 - refusal.length) // may be its beginning
  })
  for (let n = 1; n <= count; n++) {
    const more = n === count ? 'Connection: close\r\n' : ''
    const request = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${wrong()}\r\n${more}\r\n`
    if (!client.write(request)) await once(client, 'drain')
  }
  await closed
  expect(refused).toBe(count)
}

/** What is in use of the heap, in bytes, once what is not has been collected. */
function heap(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void // which the flag puts there
  collect()
  return process.memoryUsage().heapUsed
}
