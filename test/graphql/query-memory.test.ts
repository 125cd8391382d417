import { expect } from 'vitest'
import type { Plugin } from '../../src/graphql/context.ts'
import { testWithService as test } from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { whileLocked } from '../support/locks.ts'
import { waitUntil } from '../support/timeouts.ts'

const REQUESTS = 50
/** 64 KB as JSON, and a megabyte in memory. */
const LISTS = Array.from({ length: 20_000 }, () => [])

test.for([
  ['query', '{ pets { totalCount } }'],
  ['mutation', 'mutation { createPet(input: { name: "Rex", categoryId: "1" }) { id } }'],
])(
  'a %s that waits for the database keeps its text, and not what was parsed from it',
  async ([, query], { service }) => {
    let begun = 0
    const plugin: Plugin = { onExecute: () => void begun++ }
    const peer = await service.startPeer({ plugins: [plugin] })
    const send = (n: number) => peer.postGraphQL({ query, variables: { undeclared: [n, ...LISTS] } })
    expect((await send(0)).status).toBe(200) // compiles the code
    await whileLocked(peer, async (unlock) => {
      const before = usedHeapBytes()
      const responses = Array.from({ length: REQUESTS }, (_, n) => send(n))
      await waitUntil(() => begun === REQUESTS + 1)
      const kept = usedHeapBytes() - before
      await unlock()
      for (const response of await Promise.all(responses)) expect(response.status).toBe(200)
      expect(kept / REQUESTS).toBeLessThan(300_000)
    })
  },
)
