import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { text } from 'node:stream/consumers'
import type { Request, Response } from 'express'
import { expect } from 'vitest'
import type { Builder } from '../../src/graphql/schema/builder.ts'
import { KeptBytes } from '../../src/http/kept-bytes.ts'
import { Turns } from '../../src/http/turns.ts'
import { petsApi } from '../../src/pets/rest.ts'
import { RESOURCES } from '../../src/resources.ts'
import { bearer, type TestService, testWithSharedService as test } from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { connectTo, rawPost, statusesIn } from '../support/raw-http.ts'
import { waitUntil } from '../support/timeouts.ts'

const CONNECTIONS = 60

/** A document that takes milliseconds to validate, costs a point, and is rejected without a wait for the database. */
const slowDocument = (n: number) => ({
  query: `query Q${n} { ${'pet(id: 1) { id name status categoryId } '.repeat(45)} none }`,
})

/** Connections that are open before requests are sent on all of them at the same time. */
const connectAll = ({ port }: TestService, count: number) =>
  Promise.all(Array.from({ length: count }, () => connectTo(port)))

/** A GET if there is no body. */
function request(socket: Socket | undefined, path: string, key: string, body?: object): Promise<string> {
  const post = rawPost({ path, key, body, lines: ['Connection: close'] })
  socket?.write(body ? post : post.replace('POST', 'GET'))
  return text(socket as Socket) // it was connected
}

/** A document of many fields, none of whose arguments can be coerced. No two of the requests share an execution. */
const slowExecution = (n: number) => {
  const fields = Array.from({ length: 60 }, (_, i) => `a${i}: pet(id: $id) { id }`).join(' ')
  return { query: `${'\n'.repeat(450)} query ($id: ID = 1) { ${fields} }`, variables: { id: null, n } }
}

test.for([
  { title: 'documents of a key that sends many', body: slowDocument, share: 2, status: 422 },
  { title: 'executions of a document that was executed before', body: slowExecution, share: 6, status: 200 },
])('another key does not wait for all $title', async ({ body, share, status }, { service }) => {
  const otherKey = await service.keys.issue('other')
  await service.postGraphQL(body(-1))
  const [last, ...sockets] = await connectAll(service, CONNECTIONS + 1)
  await service.send('/v1/pets', { headers: bearer(otherKey) }) // caches it
  let completed = 0
  const sent = sockets.map((socket, n) => request(socket, '/graphql', service.key, body(n)).finally(() => completed++))
  const other = await request(last, '/graphql', otherKey, { query: '{ __typename }' })
  expect(statusesIn(other)).toEqual([200])
  expect(completed).toBeLessThan(CONNECTIONS / share)
  expect((await Promise.all(sent)).flatMap(statusesIn)).toEqual(sent.map(() => status))
})

test('long executions that begin later than their requests begin in a turn each', async ({ service }) => {
  let [turn, requests, release] = [0, 0, () => {}]
  const released = new Promise<number>((resolve) => (release = () => resolve(1)))
  const turns: number[] = []
  const resolve = () => {
    turns.push(turn)
    for (const beganMs = performance.now(); performance.now() - beganMs < 3;);
    return released
  }
  const addToSchema = (builder: Builder) => {
    RESOURCES.forEach((one) => one.addToSchema(builder))
    builder.queryFields((t) => ({ long: t.int({ extensions: { cost: 1, scope: 'pets:read' }, resolve }) }))
  }
  const resources = RESOURCES.map((one) => ({ ...one, addToSchema }))
  const count = () => {
    turn++
    if (turns.length < 20) setImmediate(count)
  }
  count()
  const peer = await service.startPeer({ resources, plugins: [{ onExecute: () => void requests++ }] })
  const sendEach = () => Promise.all([...'abcdefghij'].map((n) => peer.graphql(`{ ${n}: long }`)))
  const first = sendEach()
  await waitUntil(() => turns.length === 10)
  const second = sendEach()
  await waitUntil(() => requests === 20)
  release()
  await Promise.all([first, second])
  expect(new Set(turns.slice(10)).size).toBe(10)
})

/** A read that takes a millisecond to parse. */
const manyParameters = Array.from({ length: 3500 }, (_, n) => n.toString(36)).join('&')

test('reads of a key that waited too long are 503, others are served', async ({ service }) => {
  const bounded = await service.startPeer({ limits: { turnWaitMs: 0 } })
  const otherKey = await service.keys.issue('other')
  const [last, ...sockets] = await connectAll(bounded, 5 * CONNECTIONS + 1)
  for (const key of [bounded.key, otherKey]) await bounded.send('/v1/pets', { headers: bearer(key) }) // caches it
  let completed = 0
  const read = (n: number) => `/v1/pets?${n}&${manyParameters}`
  const sent = sockets.map((socket, n) => request(socket, read(n), bounded.key).finally(() => completed++))
  const other = await request(last, '/graphql', otherKey, { query: '{ __typename }' })
  expect(statusesIn(other)).toEqual([200])
  expect(completed).toBeLessThan(sent.length / 2)
  const statuses = (await Promise.all(sent)).flatMap(statusesIn)
  expect(new Set(statuses)).toEqual(new Set([200, 503]))
  const rejected = statuses.filter((status) => status === 503).length
  expect(await bounded.metric('petstore_shed_total{reason="client"}')).toBe(rejected)
})

test('a read that waits for an equal one has parsed its URL in the turn of its client', () => {
  const services = { of: () => ({ list: () => new Promise(() => {}) }) }
  const [listPets] = petsApi.operations
  const respond = listPets?.createHandler({ services } as never, '/v1/')
  let parsed = 0
  const waitFor = (read: () => unknown) => read()
  const req = {
    url: '/pets',
    deadline: { waitFor },
    get query() {
      return { limit: String(++parsed) }
    },
  }
  for (const _ of 'ab') void respond?.(req as unknown as Request, {} as Response)
  expect(parsed).toBe(2)
})

/** Turns alone: which turn a request begins in, and what it leaves in memory, is not seen over HTTP. */
function openTurns() {
  const turns = new Turns(new KeptBytes(), { turnWaitMs: 60_000 })
  turns.charge(1n, 3) // all of this turn
  return (work: () => void, { bodyBytes = 0, isLate = false, res = new EventEmitter() } = {}) => {
    const req = { caller: { clientId: 1n }, deadline: { hasPassed: isLate }, rawHeaders: [] } as unknown as Request
    return turns.inTurn(req, Object.assign(res, { req }) as unknown as Response, async () => void work(), bodyBytes)
  }
}

test('of the requests that have waited too long, each turn rejects some, and begins those behind them in time', async () => {
  const run = openTurns()
  let [rejected, begun] = [0, 0]
  for (let n = 0; n < 100; n++)
    run(expect.unreachable, { isLate: true }).catch(({ code }) => (rejected += Number(code === 'UNAVAILABLE')))
  void run(() => begun++)
  await nextTurn()
  expect(begun).toBe(1)
  expect(rejected).toBeGreaterThan(0)
  expect(rejected).toBeLessThan(20) // a client may repeat them at once
  await waitUntil(() => rejected === 100)
})

test.for([
  { title: 'a stream that has waited for its turn does not keep its body', bodyBytes: 0 },
  { title: 'a request that is rejected instead of waiting does not keep its body', bodyBytes: 2 ** 24 },
])('$title', async ({ bodyBytes }) => {
  const run = openTurns()
  const res = new EventEmitter()
  const begin = () => {
    const body = Array.from({ length: 1000 }, Number)
    return { body: new WeakRef(body), ended: run(() => body.reverse(), { res, bodyBytes }) }
  }
  const { body, ended } = begin()
  await ended.catch(({ code }) => expect(code).toBe('RESOURCE_EXHAUSTED'))
  await waitUntil(() => usedHeapBytes() && body.deref() === undefined)
  expect(res.listenerCount('close')).toBe(0)
})
