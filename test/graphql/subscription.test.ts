import { describe, expect, onTestFinished, vi } from 'vitest'
import { keyPrefix } from '../../src/auth/api-keys.ts'
import { toCursor } from '../../src/pets/animal.ts'
import { largestAsset } from '../support/assets.ts'
import { startBehindProxy } from '../support/behind-proxy.ts'
import { type EventStream, openStream } from '../support/event-stream.ts'
import { type TestService, testWithService as test, testWithSharedService, withClient } from '../support/harness.ts'
import { countBlocked, whileLocked } from '../support/locks.ts'
import { openSocket, rawPost } from '../support/raw-http.ts'
import { interceptStatements, type Statement } from '../support/statements.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

const NEW = `
  subscription New($after: String, $status: PetStatus, $categoryId: ID) {
    petCreated(after: $after, status: $status, categoryId: $categoryId) { cursor node { name } }
  }`

const createdIn = (stream: EventStream): { cursor: string; node: { name: string } }[] =>
  stream.events().map(({ data }) => JSON.parse(data).data.petCreated)
const namesOf = (stream: EventStream) => createdIn(stream).map(({ node }) => node.name)

/** Adds many animals with long names in one transaction. */
const createMany = ({ database }: TestService, count: number) =>
  database.pool.query(
    `INSERT INTO animal (name, category_id) SELECT lpad(n::text, 255, '𓃰'), 1 FROM generate_series(1, ${count}) AS n`,
  )

describe('petCreated', () => {
  test('has what any instance and API adds, and continues on any of them after a cursor', async ({ service }) => {
    const peer = await service.startPeer()
    const first = await openStream(service, { query: NEW })
    await service.create({ name: 'one' })
    await peer.create({ name: 'two' })
    await peer.graphql('mutation { createPet(input: { name: "three", categoryId: 1 }) { id } }')
    await first.received(3)
    first.close()
    expect(namesOf(first)).toEqual(['one', 'two', 'three'])
    const [one, two] = createdIn(first)
    expect(first.events().map(({ id }) => id)).toEqual(createdIn(first).map(({ cursor }) => cursor))
    const after = { after: one?.cursor ?? '' }
    const resumed = [
      await openStream(peer, { query: NEW, variables: after }),
      await openStream(peer, { query: NEW, headers: { 'Last-Event-ID': after.after } }),
    ]
    // On a retry clients send the same body again.
    const headers = { 'Last-Event-ID': two?.cursor ?? '' }
    const retried = await openStream(peer, { query: NEW, variables: after, headers })
    await service.create({ name: 'four' })
    for (const stream of resumed) {
      await stream.received(3)
      expect(namesOf(stream)).toEqual(['two', 'three', 'four'])
    }
    await retried.received(2)
    expect(namesOf(retried)).toEqual(['three', 'four'])
  })

  test('sends only animals of the filter, with the cursors of its lists', async ({ service }) => {
    const filters = [{ categoryId: '2' }, { categoryId: '2', status: 'sold' }]
    const lists = 'all: pets(categoryId: 2) { liveCursor } sold: pets(categoryId: 2, status: sold) { liveCursor }'
    const { data: pages } = await service.graphql(`{ ${lists} }`)
    const cursors: string[] = [pages?.['all']?.['liveCursor'] ?? '', pages?.['sold']?.['liveCursor'] ?? '']
    for (const categoryId of [1, 2, 3])
      for (const status of ['sold', 'pending', undefined])
        await service.create({ name: `${categoryId} ${status}`, status, categoryId })
    const live = await openStream(service, { query: NEW, variables: { ...filters[0] } })
    // The feed of a peer without streams begins above these animals, so they are read from the table.
    const peer = await service.startPeer()
    const resumed = []
    for (const [n, filter] of filters.entries())
      resumed.push(await openStream(peer, { query: NEW, variables: { ...filter, after: cursors[n] } }))
    for (const categoryId of [1, 2]) await service.create({ name: `${categoryId} new`, status: 'sold', categoryId })
    const [all, sold] = resumed
    await Promise.all([live.received(1), all?.received(4), sold?.received(2)])
    const before = ['2 sold', '2 pending', '2 undefined']
    expect([live, ...resumed].map(namesOf)).toEqual([['2 new'], [...before, '2 new'], ['2 sold', '2 new']])
    const [{ cursor } = { cursor: '' }] = createdIn(live)
    const { data } = await service.graphql(`{ pets(categoryId: 2, after: "${cursor}", first: 2) { nodes { name } } }`)
    expect(data).toEqual({ pets: { nodes: [{ name: '2 undefined' }, { name: '2 pending' }] } })
    const other = await openStream(peer, { query: NEW, variables: { categoryId: '3', after: cursors[0] } })
    expect(await other.received(2)).toMatchObject([{ event: 'next' }, { event: 'complete' }])
    expect(other.text).toContain('must be a cursor from a list with the same filter')
  })

  test('from the liveCursor of a page misses nothing, whatever the order of the fields [F6]', async ({ service }) => {
    const selections = ['nodes { id } liveCursor', 'liveCursor nodes { id }', '...Page cursor: liveCursor']
    const readsOfLocks = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND query LIKE '%ARRAY(%pg_locks%' AND state = 'idle'
      AND query NOT LIKE '%pg_stat_activity%'`
    await withClient(async (client) => {
      await client.query("INSERT INTO animal (name, category_id) VALUES ('first', 1)")
      for (const selection of selections.flatMap((one) => Array.from({ length: 3 }, () => one))) {
        await client.query("BEGIN; INSERT INTO animal (name, category_id) VALUES ('held', 1)")
        await service.create({ name: 'later' })
        const peer = await service.startPeer() // has no feed and no settled id: it waits for the transaction
        const fragment = selection.includes('...') ? 'fragment Page on AnimalConnection { nodes { id } }' : ''
        await waitUntil(async () => (await service.database.pool.query(readsOfLocks)).rowCount) // by its first probe
        let hasReadNewest = false
        const onStatement = async ({ text }: Statement, send: () => Promise<unknown>) =>
          send().finally(() => (hasReadNewest ||= text.includes('max(id)')))
        interceptStatements(peer, onStatement, [peer.database.backgroundPool])
        const response = peer.graphql(`{ pets(first: 5) { ${selection} } } ${fragment}`)
        await waitUntil(() => hasReadNewest)
        await client.query('COMMIT')
        const page: { nodes?: { id: string }[]; liveCursor?: string; cursor?: string } =
          (await response).data?.['pets'] ?? {}
        const newest = Number((await client.query('SELECT max(id) FROM animal')).rows[0].max)
        expect(page.nodes?.slice(0, 2).map(({ id }) => Number(id))).toEqual([newest, newest - 1])
        const after = page.liveCursor ?? page.cursor
        const stream = await openStream(peer, { query: NEW, variables: { after } })
        await service.create({ name: 'new' })
        await stream.received(1)
        expect(namesOf(stream)).toEqual(['new'])
        await peer.stop(0, 0)
      }
    }, service.databaseUrl)
  })
})

describe('the response', () => {
  const test = testWithSharedService

  test('is a stream only for a client that names one', async ({ service }) => {
    const accepts = {
      '*/*': 406,
      'text/event-stream;q=0, */*': 406,
      'text/event-stream': 200,
      'application/jsonl; charset=utf-8, text/event-stream; charset=utf-8': 200,
      'application/json, text/event-stream': 200,
      'multipart/mixed;subscriptionSpec=1.0': 200,
    }
    for (const [Accept, status] of Object.entries(accepts)) {
      const stream = await openStream(service, { query: NEW, headers: { Accept } })
      expect([Accept, stream.status]).toEqual([Accept, status])
    }
  })

  test('is an HTTP error before the stream begins', async ({ service }) => {
    const open = async (key: string, headers = {}) => {
      const stream = await openStream({ ...service, key }, { query: NEW, headers })
      await waitUntil(() => stream.ended)
      return [stream.status, (JSON.parse(stream.text) as { errors: { extensions: object }[] }).errors[0]?.extensions]
    }
    expect(await open('nothing')).toEqual([401, { code: 'UNAUTHENTICATED', status: 401 }])
    const fields = [{ path: ['Last-Event-ID'], message: 'must be a cursor from a list with the same filter' }]
    const invalid = { code: 'INVALID_ARGUMENT', status: 400, fields }
    expect(await open(service.key, { 'Last-Event-ID': 'nonsense' })).toEqual([422, invalid])
    // A wrong argument is an event, even beside a valid header.
    const wrongAfter = { query: 'subscription { petCreated(after: "nonsense") { cursor } }' }
    expect((await openStream(service, { ...wrongAfter, headers: { 'Last-Event-ID': toCursor(0n) } })).status).toBe(200)
    const byGet = `/graphql?query=${encodeURIComponent(NEW)}`
    const get = await service.send(byGet, { headers: { Accept: 'text/event-stream' } })
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
    await waitUntil(async () => (await service.metric('petstore_streams')) === 0) // also those of the test before
  })

  test('to a query or a rejected document is a stream of one result, if only that is accepted', async ({ service }) => {
    const refused = 'The root field of a subscription must not have @skip or @include.'
    for (const [query, result] of [
      ['{ pets(categoryId: 404) { totalCount } }', '{"data":{"pets":{"totalCount":0}}}'],
      ['{ pet(id: 0) { id } }', '"data":{"pet":null}}'],
      ['subscription { petCreated { none } }', 'GRAPHQL_VALIDATION_FAILED'],
      ['subscription { petCreated(after: "x") { cursor } }', '"fields":[{"path":["after"]'],
      ['subscription { ...F } fragment F on Subscription { ... @skip(if: true) { petCreated { cursor } } }', refused],
      ['subscription($no: Boolean = false) { petCreated @include(if: $no) { cursor } }', refused],
    ] as const) {
      const stream = await openStream(service, { query })
      await waitUntil(() => stream.ended)
      expect([stream.status, stream.headers['content-type']]).toEqual([200, 'text/event-stream; charset=utf-8'])
      const data = expect.stringContaining(result)
      expect(stream.events(), query).toMatchObject([{ event: 'next', data }, { event: 'complete' }])
    }
  })

  test('is 429 beyond the limit of a key, and 503 beyond that of a process', async ({ service }) => {
    const peer = await service.startPeer({ STREAM_LIMIT: 3, limits: { streamsPerClient: 2 } })
    const others = { ...peer, key: await service.keys.issue('other') }
    const own = [await openStream(peer, { query: NEW }), await openStream(peer, { query: NEW })]
    const refused = await openStream(peer, { query: NEW })
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1'])
    expect((await openStream(others, { query: NEW })).status).toBe(200)
    const unavailable = await openStream(others, { query: NEW })
    expect([unavailable.status, unavailable.headers['retry-after']]).toEqual([503, '1'])
    own[0]?.close()
    await waitUntil(async () => (await peer.metric('petstore_streams')) === 2)
    expect((await openStream(peer, { query: NEW })).status).toBe(200)
  })

  test('begins with a comment, and forbids proxies to transform and to buffer it', async ({ service }) => {
    const stream = await openStream(service, { query: NEW })
    expect(stream.headers).toMatchObject({ 'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no' })
    await waitUntil(() => stream.text !== '')
    expect(stream.text).toBe(':\n\n')
  })

  test('is multipart for Apollo Client', async ({ service }) => {
    const Accept = 'multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json'
    const query = 'subscription { petCreated { node { id } } }'
    const stream = await openStream(service, { query, headers: { Accept } })
    expect(stream.headers['content-type']).toBe('multipart/mixed;boundary="graphql";subscriptionSpec="1.0"')
    const id = await service.create()
    await waitUntil(() => stream.text.endsWith('}\r\n--graphql'))
    const payload = `{"payload":{"data":{"petCreated":{"node":{"id":"${id}"}}}}}`
    const part = `\r\nContent-Type: application/json\r\n\r\n${payload}\r\n--graphql`
    expect(stream.text).toBe(`\r\n--graphql${part}`)
  })

  test('outlives every timeout of requests', async ({ service }) => {
    const timeouts = {
      HANDLER_TIMEOUT_MS: 2_000,
      limits: { headersTimeoutMs: 2_000, writeTimeoutMs: 500, responseSpareMs: 500 },
      REQUEST_TIMEOUT_MS: 2_000,
      KEEP_ALIVE_TIMEOUT_MS: 100,
    }
    const peer = await service.startPeer(timeouts)
    const stream = await openStream(peer, { query: NEW })
    expect(stream.status).toBe(200)
    await new Promise((resolve) => setTimeout(resolve, 3_500)) // longer than each of them
    await service.create()
    await stream.received(1)
    expect(namesOf(stream)).toEqual(['Rex'])
  })
})

describe('a stream ends', () => {
  test('with UNAUTHENTICATED soon after its key is revoked; others go on [F15]', async ({ service }) => {
    const key = await service.keys.issue('short')
    const streams = [await openStream({ ...service, key }, { query: NEW }), await openStream(service, { query: NEW })]
    expect(await service.keys.revoke(key.slice(0, 13))).toBe(true)
    await waitUntil(() => streams[0]?.ended)
    const [next, complete] = streams[0]?.events() ?? []
    expect(JSON.parse(next?.data ?? '')).toEqual({
      errors: [{ message: 'The API key is not valid.', extensions: { code: 'UNAUTHENTICATED', status: 401 } }],
    })
    expect([complete?.event, streams[0]?.ended]).toEqual(['complete', 'complete'])
    const ended = { ended: 'unauthenticated', code: 'UNAUTHENTICATED', events: 0 }
    await service.log.line({ operation: 'subscription New', ...ended })
    await service.create()
    await streams[1]?.received(1)
    expect(streams[1]?.ended).toBeUndefined()
  })

  test('soon after its key is revoked, while requests and streams wait for the database', async ({ service }) => {
    stopClock() // keys stay cached
    const more = 'INSERT INTO animal (name, category_id) SELECT n, 1 FROM generate_series(1, 700) AS n'
    await service.database.pool.query(more) // than the feed keeps when it begins
    const { data } = await service.graphql('{ pets(last: 1) { edges { cursor } } }')
    const after = data?.['pets']?.['edges']?.[0]?.['cursor']
    const { pool, backgroundPool } = service.database
    let [pages, release] = [0, () => {}]
    const released = new Promise<void>((resolve) => (release = resolve))
    const holdPages = async ({ text }: Statement, send: () => Promise<unknown>) => {
      if (text.includes('AS page') && ++pages) await released
      return send()
    }
    interceptStatements(service, holdPages, [backgroundPool])
    const open = (key = service.key) => openStream({ ...service, key }, { query: NEW, variables: { after } })
    const [peer, key] = [await service.startPeer(), await service.keys.issue('short')]
    const streams = await Promise.all(Array.from({ length: 100 }, (_, n) => open(n ? undefined : key)))
    await waitUntil(() => pages > 0)
    const taken = await Promise.all(Array.from({ length: pool.options.max }, () => pool.connect()))
    await whileLocked(service, async (_unlock, client) => {
      release()
      void open() // waits for the database before its response begins
      await waitUntil(async () => (await countBlocked(client)) >= 2)
      expect(await peer.keys.revoke(key.slice(0, 13))).toBe(true)
      await waitUntil(() => streams[0]?.ended)
      expect([await countBlocked(client), (await fetch(`${service.base}/readyz`)).status]).toEqual([2, 200])
    }).finally(() => taken.forEach((connection) => connection.release()))
    expect(streams[0]?.text).toContain('"UNAUTHENTICATED"')
    await waitUntil(() => streams.every((stream, n) => !n || stream.events().length === 699))
  })

  test('with UNAVAILABLE, without complete, when its key cannot be verified', async ({ service: owner }) => {
    const service = await owner.startPeer({ limits: { verifyTimeoutMs: 500 } })
    const stream = await openStream(service, { query: NEW })
    const whileKeysLocked = async () => {
      await waitUntil(() => stream.ended)
      expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
    }
    await whileLocked(service, whileKeysLocked, { table: 'api_key' })
    expect(stream.events().map(({ event, data }) => [event, data])).toEqual([
      ['next', expect.stringContaining('"code":"UNAVAILABLE","status":503')],
    ])
    await service.log.line({ operation: 'subscription New', ended: 'unverified', code: 'UNAVAILABLE' })
  })

  test('not while the database is not available, unless its key expires', async ({ service }) => {
    const clock = stopClock()
    const expiresAt = new Date(Date.now() + 3_600_000)
    let now = new Date()
    const { peer, proxy } = await startBehindProxy(service, { now: () => now })
    const key = await service.keys.issue('short', { expiresAt })
    const streams = [await openStream({ ...peer, key }, { query: NEW }), await openStream(peer, { query: NEW })]
    await proxy.down()
    clock.advance(60_000)
    now = expiresAt
    await waitUntil(() => streams[0]?.ended) // both were verified
    await proxy.up()
    await service.create()
    await streams[1]?.received(1)
    expect(streams.map(({ ended }) => ended)).toEqual(['complete', undefined])
  })

  test('when its client disconnects: nothing of it is left', async ({ service }) => {
    const streams = await Promise.all(Array.from({ length: 30 }, () => openStream(service, { query: NEW })))
    await service.create()
    await Promise.all(streams.map((stream) => stream.received(1)))
    expect(await service.metric('petstore_streams')).toBe(30)
    streams.forEach((stream) => stream.close())
    await waitUntil(async () => (await service.metric('petstore_streams')) === 0)
    expect(await service.metric('petstore_streams_ended_total{reason="client"}')).toBe(30)
    expect(await service.metric('petstore_stream_events_total')).toBe(30)
    await service.log.line({ operation: 'subscription New', ended: 'client', events: 1, status: 200 })
  })
})

test('at a shutdown streams end without complete, and continue on another instance', async ({ service }) => {
  const peer = await service.startPeer()
  const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(peer, { query: NEW })))
  await service.create({ name: 'one' })
  await Promise.all(streams.map((stream) => stream.received(1)))
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.25) // of the time: a busy machine has the rest
  onTestFinished(() => random.mockRestore())
  await peer.stop(0, 6_000)
  await waitUntil(() => streams.every(({ ended }) => ended))
  expect(new Set(streams.map(({ ended }) => ended))).toEqual(new Set(['complete'])) // the body ends as its framing says (RFC 9112 §6.3)
  for (const { text } of streams) expect(text).not.toContain('event: complete')
  await peer.log.line({ operation: 'subscription New', ended: 'shutdown', events: 1 })
  await service.create({ name: 'two' })
  const [, cursor] = streams.map((stream) => createdIn(stream)[0]?.cursor)
  const resumed = await openStream(service, { query: NEW, headers: { 'Last-Event-ID': cursor ?? '' } })
  await resumed.received(1)
  expect(namesOf(resumed)).toEqual(['two'])
})

test('a stream behind another one on its connection reads nothing until its turn', async ({ service }) => {
  const other = await service.keys.issue('other', { scopes: ['pets:read'] })
  const body = { query: NEW, variables: { after: toCursor(0n) } }
  const toRequest = (key: string) => rawPost({ path: '/graphql', key, body, lines: ['Accept: text/event-stream'] })
  let received = ''
  openSocket(service.port, toRequest(other) + toRequest(service.key).repeat(7)).on('data', (d) => (received += d))
  await waitUntil(async () => (await service.metric('petstore_streams')) === 8)
  for (const name of ['one', 'two']) await service.create({ name })
  await waitUntil(() => received.includes('two'))
  expect(await service.metric('petstore_stream_events_total')).toBe(2)
  await service.keys.revoke(keyPrefix(other))
  await waitUntil(() => received.includes('UNAUTHENTICATED') && received.split('"two"').length === 3)
  expect(await service.metric('petstore_stream_events_total')).toBe(4)
})

describe('a client that does not read', () => {
  test('costs no memory, and receives everything when it reads on [F7]', async ({ service }) => {
    const stream = await openStream(service, { query: NEW.replace('node { name }', 'node { name again: name }') })
    stream.response.pause()
    const count = 12_000 // 24 MB, and more than the feed keeps
    await createMany(service, count)
    const sent = () => service.metric('petstore_stream_events_total')
    let last = -1
    // Until nothing more is sent. However slow the machine, less than everything has been sent then.
    await waitUntil(async () => {
      const before = last
      last = await sent()
      await new Promise((resolve) => setTimeout(resolve, 200))
      return last > 0 && last === before
    })
    expect(last).toBeLessThan(count / 2)
    const other = await openStream(service, { query: NEW })
    await service.create({ name: 'last' })
    await other.received(1)
    stream.response.resume()
    await stream.received(count + 1)
    const names = namesOf(stream).map((name) => name.replaceAll('𓃰', ''))
    expect(names).toEqual([...Array.from({ length: count }, (_, n) => String(n + 1)), 'last'])
  })

  test('is disconnected if a response before its stream is not taken, either', async ({ service }) => {
    const limits = { writeTimeoutMs: 500, headersTimeoutMs: 500, responseSpareMs: 500 }
    const peer = await service.startPeer({ limits, REQUEST_TIMEOUT_MS: 500 })
    const lines = ['Accept: text/event-stream']
    const subscription = rawPost({ path: '/graphql', key: peer.key, body: { query: NEW }, lines })
    const before = `GET ${largestAsset} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(6)
    const socket = openSocket(peer.port, before + subscription).pause()
    const active = setInterval(() => socket.write('\r\n'), 50) // so that it is not disconnected before
    await waitUntil(async () => (await peer.metric('petstore_streams')) === 1)
    clearInterval(active)
    await waitUntil(async () => (await peer.metric('petstore_streams')) === 0)
  })

  test('is disconnected when it takes nothing for a time', async ({ service }) => {
    const peer = await service.startPeer({ limits: { writeTimeoutMs: 1_000 } })
    // Events of 20 KB: 1,500 of them fill the buffers of a connection, and as many of NEW do not.
    const names = Array.from({ length: 20 }, (_, n) => `n${n}: name`).join(' ')
    const stream = await openStream(peer, { query: `subscription New { petCreated { node { ${names} } } }` })
    const other = await openStream(peer, { query: NEW })
    stream.response.pause()
    await createMany(service, 1_500)
    await peer.log.line({ operation: 'subscription New', ended: 'slow' })
    expect(await peer.metric('petstore_streams_ended_total{reason="slow"}')).toBe(1)
    await other.received(1_500)
    expect(other.ended).toBeUndefined()
  })
})
