import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, vi } from 'vitest'
import { Deadline } from '../../src/http/deadline.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { whileLocked } from '../support/locks.ts'
import { collect, parseResponse, rawPost } from '../support/raw-http.ts'

type Unlock = () => Promise<unknown>

/** Runs `work` while the tables of keys and animals are locked, until it unlocks them. */
const whileBothLocked = (service: TestService, work: (ofKeys: Unlock, ofAnimals: Unlock) => Promise<void>) =>
  whileLocked(service, (keys) => whileLocked(service, (animals) => work(keys, animals)), { table: 'api_key' })

const mutation = 'mutation { createPet(input: { name: "Rex", categoryId: 1 }) { id } }'

test.concurrent(
  'a read is 503 and a write 504 when the waits for its key and its table together exceed the timeout, and logs both [W9, W19]',
  async ({ service }) => {
    const peer = await service.startPeer({ HANDLER_TIMEOUT_MS: 4_000 })
    await whileBothLocked(service, async (unlockKeys) => {
      const sent = [
        peer.send('/v1/pets'),
        peer.postGraphQL({ query: '{ pets { totalCount } }' }),
        peer.post({ name: 'Rex', categoryId: 1 }),
        peer.postGraphQL({ query: mutation }),
      ]
      await sleep(2_000)
      await unlockKeys()
      const responses = await Promise.all(sent)
      expect(responses.map(({ status }) => status)).toEqual([503, 503, 504, 200]) // an error of a field is 200
      const texts = await Promise.all(responses.map((response) => response.text()))
      expect(texts.map((text) => /"code":"(\w+)"/.exec(text)?.[1])).toEqual([
        ...['UNAVAILABLE', 'UNAVAILABLE'],
        ...['DEADLINE_EXCEEDED', 'DEADLINE_EXCEEDED'],
      ])
      // They share the lookup of the key, and each of them has waited for it.
      for (const { headers } of responses) {
        const { databaseMs } = await peer.log.line({ requestId: headers.get('x-request-id'), msg: 'request' })
        expect(databaseMs).toBeGreaterThan(2_500)
      }
    })
  },
)

test.concurrent('the time in which a body arrives does not count', async ({ service }) => {
  const { key, port } = await service.startPeer({ HANDLER_TIMEOUT_MS: 3_000 })
  const body = '{"name":"Rex","categoryId":1}'
  const socket = connect(port, '127.0.0.1')
  socket.write(rawPost({ key, lines: ['Connection: close', `Content-Length: ${body.length}`] }))
  await sleep(3_200)
  socket.write(body)
  expect(parseResponse(await collect(socket)).status).toBe(201)
})

test.concurrent(
  'requests that share a query keep their own deadlines: the later one succeeds when the earlier one times out',
  async ({ service }) => {
    const peer = await service.startPeer({ HANDLER_TIMEOUT_MS: 5_000 })
    await whileBothLocked(service, async (unlockKeys, unlockAnimals) => {
      const send = () => peer.graphql('{ pets { totalCount } }')
      const older = send()
      await sleep(3_000)
      const younger = send()
      await sleep(500)
      await unlockKeys() // both continue to the table animal, the older one first
      expect((await older).errors?.[0]?.extensions.status).toBe(503)
      await unlockAnimals()
      expect(await younger).toEqual({ data: { pets: { totalCount: 0 } } })
    })
  },
)

test('all waits of a request share its deadline, and no operation starts after it [W9]', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const deadline = new Deadline(1_000)
  const first = deadline.waitFor(() => new Promise((resolve) => void setTimeout(resolve, 600)))
  await vi.advanceTimersByTimeAsync(600)
  await first
  const second = deadline.waitFor(() => new Promise(() => {}), { mayHaveExecuted: true })
  const rejected = expect(second).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' })
  await vi.advanceTimersByTimeAsync(400)
  await rejected
  const operation = vi.fn<() => Promise<void>>()
  await expect(deadline.waitFor(operation, { mayHaveExecuted: true })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
  expect(operation).not.toHaveBeenCalled()
})
