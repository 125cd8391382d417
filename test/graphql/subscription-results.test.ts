import { type ExecutionResult, Kind, parse } from 'graphql'
import { expect, test } from 'vitest'
import { createDeadline } from '../../src/http/deadline.ts'
import { createResults } from '../../src/graphql/subscription/results.ts'

const DOCUMENT = parse(`subscription ($after: String, $full: Boolean = false) {
  petCreated(after: $after) { node { id name @include(if: $full) } }
}`)

const feed = { settledId: async () => 0n, follow: () => expect.unreachable() }
const context = { animals: {} as never, feed, caller: undefined, deadline: createDeadline(60_000) } // no resolver uses animals

const edge = (id: bigint) => ({
  node: { id, name: `animal ${id}`, categoryId: 1n, status: null },
  cursor: () => expect.unreachable(),
})

/** Results of streams, and how many events were executed for all of them. */
function openResults() {
  const openStream = createResults()
  const [operation] = DOCUMENT.definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) return expect.unreachable()
  const executed = { count: 0 }
  const format = ({ data }: ExecutionResult) => {
    executed.count++
    return JSON.stringify(data)
  }
  const open = (variables: Record<string, unknown>, signal = new AbortController().signal) => {
    const results = openStream({ document: DOCUMENT, operation, variables }, format, signal)
    return (id: bigint) => results.toJson(edge(id), context)
  }
  return { open, executed }
}

test('an event is executed once for all streams of an operation, wherever they began', async () => {
  const { open, executed } = openResults()
  const streams = [open({}), open({ after: 'a' }), open({ after: 'b' }), open({ after: null })]
  for (const id of [1n, 2n]) {
    for (const stream of streams) expect(await stream(id)).toBe(`{"petCreated":{"node":{"id":"${id}"}}}`)
  }
  expect(executed.count).toBe(2)
})

test('streams with other variables have their own results', async () => {
  const { open, executed } = openResults()
  const [short, full] = [open({ full: false }), open({ full: true, after: 'a' })]
  expect(await short(1n)).toBe('{"petCreated":{"node":{"id":"1"}}}')
  expect(await full(1n)).toBe('{"petCreated":{"node":{"id":"1","name":"animal 1"}}}')
  expect(await short(1n)).toBe('{"petCreated":{"node":{"id":"1"}}}')
  expect(executed.count).toBe(2)
})

test('variables that the operation does not define count for nothing, whatever their values', async () => {
  const { open, executed } = openResults()
  for (const stream of [open({}), open({ other: 2n ** 53n + 1n }), open({ other: [Number.NaN] })]) {
    expect(await stream(1n)).toBe('{"petCreated":{"node":{"id":"1"}}}')
  }
  expect(executed.count).toBe(1)
})

test('a stream that has ended leaves the results of the others alone', async () => {
  const { open, executed } = openResults()
  const first = new AbortController()
  const [ended, other] = [open({}, first.signal), open({})]
  await ended(1n)
  first.abort()
  await other(1n)
  await open({}, AbortSignal.abort())(1n)
  await open({})(1n)
  expect(executed.count).toBe(1)
})
