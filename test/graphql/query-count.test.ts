import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, describe, expect } from 'vitest'
import { animals } from '../../src/pets/animal.ts'
import { createStore } from '../../src/store/store.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { interceptStatements, recordStatements } from '../support/statements.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

async function createSome(service: TestService, n: number): Promise<void> {
  for (let i = 0; i < n; i++) await service.post({ name: `animal ${i}`, categoryId: i })
}

describe('the service sends only the statements that the selection needs', () => {
  beforeEach(() => void stopClock()) // the key stays in the cache, so that no statement looks it up again

  test('aliases of pet share one statement, and each has its own animal', async ({ service }) => {
    await createSome(service, 6)
    const sent = recordStatements(service)
    const aliases = Array.from({ length: 6 }, (_, i) => `a${i}: pet(id: ${6 - i}) { name }`)
    const { data } = await service.graphql(
      `{ ${aliases.join(' ')} absent: pet(id: 99) { name } again: pet(id: 1) { name } }`,
    )
    const expected = Object.fromEntries(aliases.map((_, i) => [`a${i}`, { name: `animal ${5 - i}` }]))
    expect(data).toEqual({ ...expected, absent: null, again: { name: 'animal 0' } })
    expect(sent).toHaveLength(1)
  })

  test('totalCount alone runs only a COUNT; a list without it runs none', async ({ service }) => {
    await createSome(service, 1)
    const sent = recordStatements(service)
    expect((await service.graphql('{ pets { totalCount } }')).data).toEqual({ pets: { totalCount: 1 } })
    const begin = expect.stringMatching(/^BEGIN; SET LOCAL /)
    expect(sent.map(({ text }) => text)).toEqual([begin, expect.stringContaining('count('), 'COMMIT'])
    await service.graphql('{ pets { nodes { id } } }')
    expect(sent.slice(3).map(({ text }) => text.includes('count('))).toEqual([false])
  })

  test('counts are executed one at a time, once for all that wait, and delay nothing else', async ({ service }) => {
    const checkoutMs = 1_000
    const peer = await service.startPeer({ limits: { checkoutTimeoutMs: checkoutMs } })
    const { database } = peer
    const store = createStore(animals, database.statements, database.runCount)
    await createSome(peer, 3)
    let [counts, end] = [0, () => {}]
    const ended = new Promise<void>((resolve) => (end = resolve))
    interceptStatements(peer, async ({ text }, send) => {
      if (!/count\(/i.test(text)) return send()
      counts += 1
      await ended
      return send()
    })
    const first = store.count({})
    await waitUntil(() => counts === 1)
    const others = Array.from({ length: 150 }, (_, n) => store.count(n % 2 ? { status: 'available' } : {}))
    try {
      await waitUntil(() => database.countPool.waitingCount === 2)
      expect((await peer.send('/v1/pets')).status).toBe(200)
      await peer.create({ status: 'available' })
      expect((await fetch(`${peer.base}/readyz`)).status).toBe(200)
      expect({ counts, waiting: database.waitingCount() }).toEqual({ counts: 1, waiting: 0 })
      await sleep(checkoutMs) // a count waits longer than a list may
    } finally {
      end()
    }
    expect([await first, ...(await Promise.all(others))].slice(-2)).toEqual([4, 1])
    expect(counts).toBe(3)
  })
})
