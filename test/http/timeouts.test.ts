import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, vi } from 'vitest'
import { createDeadline } from '../../src/http/deadline.ts'
import { withClient, type TestService, testWithService as test } from '../support/harness.ts'

function open(service: TestService, body: string): Socket {
  const head = [
    'POST /v1/pets HTTP/1.1',
    'Host: localhost',
    `Authorization: Bearer ${service.key}`,
    'Content-Type: application/json',
    'X-Request-Id: slow',
    'Transfer-Encoding: chunked\r\n\r\n',
  ]
  const socket = connect(service.port, '127.0.0.1')
  socket.on('error', () => {}) // cut by the service
  socket.write(head.join('\r\n') + body)
  return socket
}

describe('a body that does not come whole', () => {
  test('is 408, and the connection closed, once the request has taken too long', async ({ service }) => {
    const hasty = await service.startPeer({ timeouts: { headersMs: 100, requestMs: 200 } })
    const answer = await text(open(hasty, '5\r\n{"nam'))
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain('{"code":"REQUEST_TIMEOUT",')
    expect(await hasty.log.line({ requestId: 'slow' })).toMatchObject({ status: 408, code: 'REQUEST_TIMEOUT' })
  })

  test.for([
    ['broken', '5\r\n{"nam\r\nxyz\r\n', false],
    ['broken off', '5\r\n{"nam', true],
  ] as const)('is 400 when it is %s, and nothing of it stays behind', async ([, body, hangUp], { service }) => {
    const client = open(service, body)
    if (hangUp) client.end()
    expect(await text(client)).toMatch(/^HTTP\/1\.1 400 [^]*"code":"INVALID_ARGUMENT"/)
    expect(await service.log.line({ requestId: 'slow' })).toMatchObject({ status: 400 })
  })
})

describe('a request that waits twice, for its key and for the table', () => {
  const handlerMs = 4_000
  /** Asks while both tables are locked: that of keys until half of a request's time is over, the other for good. */
  async function whileLocked<T>(service: TestService, ask: (impatient: TestService) => Promise<T>): Promise<T> {
    const impatient = await service.startPeer({ timeouts: { handlerMs } })
    const database = new URL(service.databaseUrl).pathname.slice(1)
    return withClient(
      (keys) =>
        withClient(async (animals) => {
          await keys.query('BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE')
          await animals.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
          setTimeout(() => void keys.query('ROLLBACK'), handlerMs / 2)
          return ask(impatient)
        }, database),
      database,
    )
  }

  test('is 503 when it reads, though neither wait alone is too long', async ({ service }) => {
    await whileLocked(service, async (impatient) => {
      const response = await impatient.send('/v1/pets')
      expect([response.status, await response.json()]).toEqual([503, expect.objectContaining({ code: 'UNAVAILABLE' })])
    })
  })

  test('is 504 when it writes: nobody knows what comes of it', async ({ service }) => {
    await whileLocked(service, async (impatient) => {
      const response = await impatient.post({ name: 'Rex', categoryId: 1 })
      expect([response.status, await response.json()]).toEqual([
        504,
        expect.objectContaining({ code: 'DEADLINE_EXCEEDED' }),
      ])
    })
  })
})

test('a query that is joined takes no time from one another: whoever has some left gets the answer', async ({
  service,
}) => {
  const handlerMs = 8_000
  const peer = await service.startPeer({ timeouts: { handlerMs } })
  const database = new URL(service.databaseUrl).pathname.slice(1)
  const at = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms))
  await withClient(
    (keys) =>
      withClient(async (animals) => {
        await keys.query('BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE')
        await animals.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
        const ask = () => peer.graphql('{ pets { totalCount } }')
        const unlocked = Promise.all([
          at(6_000).then(() => keys.query('ROLLBACK')), // the two go on to the table together, the older one first
          at(10_000).then(() => animals.query('ROLLBACK')),
        ])
        const older = ask()
        await at(4_800)
        const younger = await ask()
        expect((await older).errors?.[0]?.extensions.status).toBe(503)
        expect(younger).toEqual({ data: { pets: { totalCount: 0 } } })
        await unlocked
      }, database),
    database,
  )
})

test('shared work adds its database time to each request, or the whole wait when it fails', async ({
  onTestFinished,
}) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const time = createDeadline(1_000)
  const done = time.runShared(
    () => new Promise<{ databaseMs: number }>((resolve) => void setTimeout(() => resolve({ databaseMs: 50 }), 400)),
  )
  await vi.advanceTimersByTimeAsync(400)
  expect(await done).toEqual({ databaseMs: 50 })
  expect(time.databaseMs).toBe(50)
  const failed = expect(time.runShared(() => new Promise<never>(() => {}))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  })
  await vi.advanceTimersByTimeAsync(600)
  await failed
  expect(time.databaseMs).toBe(650)
})

test('all waits of a request share its one limit, and no operation starts after it', async ({ onTestFinished }) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const time = createDeadline(1_000)
  const first = time.run(() => new Promise((resolve) => void setTimeout(resolve, 600)))
  await vi.advanceTimersByTimeAsync(600)
  await first
  expect(time.databaseMs).toBe(600)

  let ended: unknown
  const second = time
    .run(() => new Promise(() => {}), { mayHaveExecuted: true })
    .catch((error: unknown) => (ended = error))
  await vi.advanceTimersByTimeAsync(399)
  expect(ended).toBeUndefined()
  await vi.advanceTimersByTimeAsync(1)
  expect(await second).toMatchObject({ code: 'DEADLINE_EXCEEDED' })

  const ask = vi.fn<() => Promise<void>>()
  await expect(time.run(ask, { mayHaveExecuted: true })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(ask).not.toHaveBeenCalled()
  expect(time.databaseMs).toBe(1_000)
})
