import { expect, test } from 'vitest'
import { auditStreams } from '../chaos/stream-audit.ts'

const STORED = ['available', null, 'sold', 'available'].map((status, n) => ({ id: String(n + 1), name: 'x', status }))

const DISORDER = '… events out of order, or repeated within a connection'
const cases: [received: string, page: number[], connections: number[][], faults: string[], status?: string][] = [
  ['a page and the rest of the stream', [2, 1], [[3, 4]], []],
  [
    'an animal again after a resume',
    [],
    [
      [1, 2, 3],
      [3, 4],
    ],
    [],
  ],
  ['no second animal', [], [[1, 3, 4]], ['… animals missing']],
  ['an animal after a later one', [], [[1, 3, 2, 4]], [DISORDER]],
  ['an animal twice in one connection', [], [[1, 2, 2, 3, 4]], [DISORDER]],
  ['an animal that was rolled back', [], [[1, 2, 3, 4, 5]], ['… animals that are not stored']],
  ['only the animals of its filter', [], [[1], [4]], [], 'available'],
  ['an animal of another filter', [], [[1, 3, 4]], ['… animals that do not match the filter'], 'available'],
]
test.for(cases)('the audit of streams names the faults of a client that received %s', (one) => {
  const [, page, connections, faults, status] = one
  const toIds = (ids: number[]) => ids.map(BigInt)
  const received = { status, page: toIds(page), connections: connections.map(toIds) }
  const found = auditStreams([{ received }], STORED).filter(({ holds }) => !holds)
  expect(found.map(({ name }) => name)).toEqual(faults)
})
