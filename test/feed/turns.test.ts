import { expect, test } from 'vitest'
import { createTurns } from '../../src/feed/turns.ts'

test('clients take turns with one work each, however much of one waits; a failure ends only its turn', async () => {
  const takeTurn = createTurns()
  const executed: string[] = []
  let running = 0
  const add = (clientId: bigint, name: string) =>
    takeTurn(clientId, async () => {
      expect(++running).toBe(1)
      await Promise.resolve()
      executed.push(name)
      running--
      if (name === 'a2') throw new Error(name)
    })
  const works = ['a1', 'a2', 'a3', 'a4'].map((name) => add(1n, name))
  works.push(
    add(2n, 'b1').then(() => add(2n, 'b2')),
    add(3n, 'c1'),
  )
  const results = await Promise.allSettled(works)
  expect(executed).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']) // a1 began before the others came
  expect(results.map(({ status }) => status === 'fulfilled')).toEqual([true, false, true, true, true, true])
})
