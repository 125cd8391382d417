import { once } from 'node:events'
import { connect } from 'node:net'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { pino } from 'pino'
import { describe, expect, vi } from 'vitest'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import { mintKey } from '../../src/auth/api-key.ts'
import { KEY_CACHE_MS } from '../../src/auth/key-lookup.ts'
import { type TestService, startService, testWithService as test } from '../support/harness.ts'

describe('while the database is down', () => {
  test('a key that nobody asked for before is 503, never 401; one that is known counts for five seconds', async ({
    service,
    onTestFinished,
  }) => {
    const now = performance.now()
    const clock = vi.spyOn(performance, 'now').mockReturnValue(now) // which the cache of keys goes by
    onTestFinished(() => clock.mockRestore())
    const proxy = await startTcpProxy(service.databaseUrl)
    const stops: (() => Promise<void>)[] = []
    onTestFinished(() => stops[0]?.())
    const { base } = await startService(proxy.url, stops, { key: service.key })
    const ask = async (key: string, path = '/v1/pets?limit=0') =>
      (await fetch(base + path, { headers: { Authorization: `Bearer ${key}` } })).status
    expect(await ask(service.key)).toBe(400)
    await proxy.down()
    expect(await ask(service.key)).toBe(400) // believed, and refused for its limit without asking the database
    expect(await Promise.all([ask(mintKey()), ask(mintKey(), '/graphql'), ask('Bearer x')])).toEqual([503, 503, 401])
    clock.mockReturnValue(now + KEY_CACHE_MS - 1)
    expect(await ask(service.key)).toBe(400)
    // Past its time it is not accepted any more, and not called wrong either.
    clock.mockReturnValue(now + KEY_CACHE_MS + 100)
    expect(await ask(service.key)).toBe(503)
    await proxy.up()
    expect([await ask(service.key), await ask(mintKey())]).toEqual([400, 401])
  })
})

describe('ten thousand different wrong keys', () => {
  test('are 401 each, leave nothing in memory, and cost no query where the checksum is wrong', async ({ service }) => {
    const peer = await service.startPeer({ log: pino({ level: 'silent' }) })
    const queries = vi.spyOn(peer.database.pool, 'query')
    await flood(peer, 4_000, misprinted) // warms up
    const before = heap()
    await flood(peer, 6_000, misprinted)
    expect(heap() - before).toBeLessThan(400_000) // bytes: less than a key each
    expect(queries).not.toHaveBeenCalled()
    await flood(peer, 1_000, mintKey)
    expect(queries).toHaveBeenCalledTimes(1_000)
  })
})

const misprinted = () => mintKey().replace(/.$/, '_')

/** Sends so many wrong keys over one connection, without waiting for the answers, and holds each of them to 401. */
async function flood({ port }: TestService, count: number, wrong: () => string): Promise<void> {
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
