import { beforeEach, describe, expect } from 'vitest'
import { animals } from '../../src/pets/animal.ts'
import { createStore } from '../../src/store/store.ts'
import { testWithService as test } from '../support/harness.ts'
import { interceptStatements, recordStatements } from '../support/statements.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

describe('the service sends only the statements that the selection needs', () => {
  beforeEach(() => void stopClock()) // the key stays in the cache, so that no statement looks it up again

  test('aliases of pet share one statement, and each has its own animal', async ({ service }) => {
    for (let i = 0; i < 6; i++) await service.create({ name: `animal ${i}` })
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
    await service.create()
    const sent = recordStatements(service)
    expect((await service.graphql('{ pets { totalCount } }')).data).toEqual({ pets: { totalCount: 1 } })
    const begin = expect.stringMatching(/^BEGIN; SET LOCAL /)
    expect(sent.map(({ text }) => text)).toEqual([begin, expect.stringContaining('count('), 'COMMIT'])
    await service.graphql('{ pets { nodes { id } } }')
    expect(sent.slice(3).map(({ text }) => text.includes('count('))).toEqual([false])
  })

  test('counts are executed one at a time, once for all that wait, and delay nothing else', async ({ service }) => {
    const { database } = service
    const store = createStore(animals, database.statements, database.readCount)
    await service.create()
    let [counts, end] = [0, () => {}]
    const ended = new Promise<void>((resolve) => (end = resolve))
    interceptStatements(service, async ({ text }, send) => {
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
      expect((await service.send('/v1/pets')).status).toBe(200)
      await service.create({ status: 'available' })
      expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
      expect({ counts, waiting: database.waitingCount() }).toEqual({ counts: 1, waiting: 0 })
    } finally {
      end()
    }
    expect([await first, ...(await Promise.all(others))].slice(-2)).toEqual([2, 1])
    expect(counts).toBe(3)
  })
})
