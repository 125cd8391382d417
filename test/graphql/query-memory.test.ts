import { expect } from 'vitest'
import type { Plugin } from '../../src/graphql/context.ts'
import { testWithSharedService as test } from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { whileLocked } from '../support/locks.ts'
import { waitUntil } from '../support/timeouts.ts'

const REQUESTS = 50
/** 64 KB as JSON, and a megabyte in memory. */
const LISTS = Array.from({ length: 20_000 }, () => [])
const COUNT = '{ pets { totalCount } }'
const CREATE = 'mutation { createPet(input: { name: "Rex", categoryId: "1" }) { id } }'

test.for([
  [COUNT, 'variables'],
  [COUNT, 'extensions'],
  [COUNT, 'unknown'],
  [CREATE, 'variables'],
] as const)(
  'while %s waits for the database, memory keeps neither its body nor what was parsed of its %s',
  async ([query, member], { service }) => {
    let begun = 0
    const plugin: Plugin = { onExecute: () => void begun++ }
    const peer = await service.startPeer({ plugins: [plugin] })
    const send = (n: number) => peer.postGraphQL({ query, [member]: { undeclared: [n, ...LISTS] } })
    expect((await send(0)).status).toBe(200) // compiles the code
    await whileLocked(peer, async (unlock) => {
      const before = usedHeapBytes()
      const responses = Array.from({ length: REQUESTS }, (_, n) => send(n))
      await waitUntil(() => begun === REQUESTS + 1)
      const keptBytes = (usedHeapBytes() - before) / REQUESTS // with what the client keeps
      expect(keptBytes).toBeLessThan(230_000)
      await unlock()
      for (const response of await Promise.all(responses)) expect(response.status).toBe(200)
    })
  },
)
