import { describe, expect, vi } from 'vitest'
import { Deadline } from '../../src/http/deadline.ts'
import { withClient, type TestService, testWithService as test, databaseOf } from '../support/harness.ts'

describe('a request that waits for its key and then for the table', { concurrent: true }, () => {
  const handlerMs = 4_000
  /** Runs `work` while both tables are locked: that of keys for half of the handler timeout, that of animals until the end. */
  async function whileLocked<T>(service: TestService, work: (peer: TestService) => Promise<T>): Promise<T> {
    const peer = await service.startPeer({ HANDLER_TIMEOUT_MS: handlerMs })
    const database = databaseOf(service)
    return withClient(
      (keys) =>
        withClient(async (animals) => {
          await keys.query('BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE')
          await animals.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
          setTimeout(() => void keys.query('ROLLBACK'), handlerMs / 2)
          return work(peer)
        }, database),
      database,
    )
  }

  test('is 503 for a read, although neither wait alone exceeds the timeout', async ({ service }) => {
    await whileLocked(service, async (peer) => {
      const response = await peer.send('/v1/pets')
      expect([response.status, await response.json()]).toEqual([503, expect.objectContaining({ code: 'UNAVAILABLE' })])
    })
  })

  test('is 504 for a write, since its outcome is unknown', async ({ service }) => {
    await whileLocked(service, async (peer) => {
      const response = await peer.post({ name: 'Rex', categoryId: 1 })
      expect([response.status, await response.json()]).toEqual([
        504,
        expect.objectContaining({ code: 'DEADLINE_EXCEEDED' }),
      ])
    })
  })
})

test.concurrent.for([
  {
    failure: 'the deadline of the request passes',
    timeouts: { HANDLER_TIMEOUT_MS: 500 },
    status: 503,
    path: undefined,
  },
  { failure: 'a statement of it fails', timeouts: { DATABASE_LOCK_TIMEOUT_MS: 100 }, status: 200, path: ['pet'] },
])('a GraphQL query is $status, with UNAVAILABLE, when $failure', async ({ timeouts, status, path }, { service }) => {
  const peer = await service.startPeer(timeouts)
  await peer.graphql('{ __typename }') // caches the key
  await withClient(async (client) => {
    await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
    const headers = { 'Content-Type': 'application/json' }
    const response = await peer.send('/graphql', { method: 'POST', headers, body: '{"query":"{ pet(id: 1) { id } }"}' })
    expect(response.status).toBe(status)
    const { errors } = (await response.json()) as { errors: [{ path?: string[]; extensions: object }] }
    expect(errors[0].extensions).toEqual({ code: 'UNAVAILABLE', status: 503 })
    expect(errors[0].path).toEqual(path)
  }, databaseOf(service))
})

test.concurrent(
  'requests that share a query keep their own deadlines: the later one succeeds when the earlier one times out',
  async ({ service }) => {
    const handlerMs = 8_000
    const peer = await service.startPeer({ HANDLER_TIMEOUT_MS: handlerMs })
    const database = databaseOf(service)
    const at = (ms: number) => new Promise((resolve) => void setTimeout(resolve, ms))
    await withClient(
      (keys) =>
        withClient(async (animals) => {
          await keys.query('BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE')
          await animals.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE')
          const send = () => peer.graphql('{ pets { totalCount } }')
          const unlocked = Promise.all([
            at(6_000).then(() => keys.query('ROLLBACK')), // both continue to the table animal, the older one first
            at(10_000).then(() => animals.query('ROLLBACK')),
          ])
          const older = send()
          await at(4_800)
          const younger = await send()
          expect((await older).errors?.[0]?.extensions.status).toBe(503)
          expect(younger).toEqual({ data: { pets: { totalCount: 0 } } })
          await unlocked
        }, database),
      database,
    )
  },
)

test('shared work adds its database time to each request, or the whole waiting time if it fails', async ({
  onTestFinished,
}) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const deadline = new Deadline(1_000)
  const done = deadline.runShared(
    () => new Promise<{ databaseMs: number }>((resolve) => void setTimeout(() => resolve({ databaseMs: 50 }), 400)),
  )
  await vi.advanceTimersByTimeAsync(400)
  expect(await done).toEqual({ databaseMs: 50 })
  expect(deadline.databaseMs).toBe(50)
  const failed = expect(deadline.runShared(() => new Promise<never>(() => {}))).rejects.toMatchObject({
    code: 'UNAVAILABLE',
  })
  await vi.advanceTimersByTimeAsync(600)
  await failed
  expect(deadline.databaseMs).toBe(650)
})

test('all waits of a request share its deadline, and no operation starts after it', async ({ onTestFinished }) => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const deadline = new Deadline(1_000)
  const first = deadline.run(() => new Promise((resolve) => void setTimeout(resolve, 600)))
  await vi.advanceTimersByTimeAsync(600)
  await first
  expect(deadline.databaseMs).toBe(600)

  let failure: unknown
  const second = deadline
    .run(() => new Promise(() => {}), { mayHaveExecuted: true })
    .catch((error: unknown) => (failure = error))
  await vi.advanceTimersByTimeAsync(399)
  expect(failure).toBeUndefined()
  await vi.advanceTimersByTimeAsync(1)
  expect(await second).toMatchObject({ code: 'DEADLINE_EXCEEDED' })

  const operation = vi.fn<() => Promise<void>>()
  await expect(deadline.run(operation, { mayHaveExecuted: true })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(operation).not.toHaveBeenCalled()
  expect(deadline.databaseMs).toBe(1_000)
})
