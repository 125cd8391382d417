import { expect, test } from 'vitest'
import { auditStreams } from '../chaos/stream-audit.ts'

const STORED = ['available', null, 'sold', 'available'].map((status, n) => ({ id: String(n + 1), name: 'x', status }))

test.for([
  { title: 'a page and the rest of the stream', page: [2, 1], connections: [[3, 4]], fault: undefined },
  {
    title: 'an animal again after a resume',
    page: [],
    connections: [
      [1, 2, 3],
      [3, 4],
    ],
    fault: undefined,
  },
  { title: 'all with the status', page: [], connections: [[1], [4]], status: 'available', fault: undefined },
  { title: 'no second animal', page: [], connections: [[1, 3, 4]], fault: '… animals missing' },
  {
    title: 'an animal after a later one',
    page: [],
    connections: [[1, 3, 2, 4]],
    fault: '… events out of order, or repeated within a connection',
  },
  {
    title: 'an animal twice in one connection',
    page: [],
    connections: [[1, 2, 2, 3, 4]],
    fault: '… events out of order, or repeated within a connection',
  },
  {
    title: 'an animal that was rolled back',
    page: [],
    connections: [[1, 2, 3, 4, 5]],
    fault: '… animals that are not stored',
  },
  {
    title: 'an animal with another status',
    page: [],
    connections: [[1, 3, 4]],
    status: 'available',
    fault: '… animals that do not match the filter',
  },
])('the audit of streams names the fault of a client that received $title', ({ page, connections, status, fault }) => {
  const toIds = (ids: number[]) => ids.map(BigInt)
  const received = { status, page: toIds(page), connections: connections.map(toIds) }
  const broken = auditStreams([{ received }], STORED).filter(({ holds }) => !holds)
  expect(broken.map(({ name }) => name)).toEqual(fault === undefined ? [] : [fault])
})
