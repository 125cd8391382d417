import { expect, test } from 'vitest'
import { auditStreams } from '../chaos/stream-audit.ts'

const STORED = ['available', null, 'sold', 'available'].map((status, n) => ({ id: String(n + 1), name: 'x', status }))

const DISORDER = '… events out of order, or repeated within a connection'
const cases: [received: string, page: number[], connections: number[][], fault?: string][] = [
  ['a page and the rest of the stream', [2, 1], [[3, 4]]],
  [
    'an animal again after a resume',
    [],
    [
      [1, 2, 3],
      [3, 4],
    ],
  ],
  ['no second animal', [], [[1, 3, 4]], '… animals missing'],
  ['an animal after a later one', [], [[1, 3, 2, 4]], DISORDER],
  ['an animal twice in one connection', [], [[1, 2, 2, 3, 4]], DISORDER],
  ['an animal that was rolled back', [], [[1, 2, 3, 4, 5]], '… animals that are not stored'],
]
test.for(cases)('the audit of streams names the fault of a client that received %s', ([, page, connections, fault]) => {
  expect(faultsOf(page, connections)).toEqual(fault ? [fault] : [])
})

test('the audit of streams with a filter misses only animals with its status', () => {
  expect(faultsOf([], [[1], [4]], 'available')).toEqual([])
  expect(faultsOf([], [[1, 3, 4]], 'available')).toEqual(['… animals that do not match the filter'])
})

function faultsOf(page: number[], connections: number[][], status?: string): string[] {
  const toIds = (ids: number[]) => ids.map(BigInt)
  const received = { status, page: toIds(page), connections: connections.map(toIds) }
  return auditStreams([{ received }], STORED).flatMap(({ holds, name }) => (holds ? [] : [name]))
}
