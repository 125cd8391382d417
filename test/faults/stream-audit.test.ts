import { expect, test } from 'vitest'
import { auditStreams } from '../chaos/stream-audit.ts'

const STORED = ['available', null, 'sold', 'available'].map((status, n) => ({ id: String(n + 1), name: 'x', status }))

const DISORDER = '… events out of order, or repeated within a connection'
const cases: [received: string, page: string, connections: string[], faults: string[], status?: string][] = [
  ['a page and the rest of the stream', '21', ['34'], []],
  ['an animal again after a resume', '', ['123', '34'], []],
  ['no second animal', '', ['134'], ['… animals missing']],
  ['an animal after a later one', '', ['1324'], [DISORDER]],
  ['an animal twice in one connection', '', ['12234'], [DISORDER]],
  ['an animal that was rolled back', '', ['12345'], ['… animals that are not stored']],
  ['only the animals of its filter', '', ['1', '4'], [], 'available'],
  ['an animal of another filter', '', ['134'], ['… animals that do not match the filter'], 'available'],
]
test.for(cases)('the audit of streams names the faults of a client that received %s', (one) => {
  const [, page, connections, faults, status] = one
  const toIds = (digits: string) => Array.from(digits, BigInt)
  const received = { status, page: toIds(page), connections: connections.map(toIds) }
  const found = auditStreams([{ received }], STORED).filter(({ holds }) => !holds)
  expect(found.map(({ name }) => name)).toEqual(faults)
})
