import { expect } from 'vitest'
import { openStream } from '../support/event-stream.ts'
import { testWithService as test, withClient } from '../support/harness.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

const WAITS = 'new items wait for an open transaction'
const INSERT = "INSERT INTO animal (name, category_id) VALUES ('held', 1)"

test('a page with a liveCursor says that a transaction has not ended', async ({ service }) => {
  await withClient(async (client) => {
    await client.query(`BEGIN; ${INSERT}`)
    const { graphql } = await service.startPeer({ HANDLER_TIMEOUT_MS: 5_000 }) // which has found no settled id yet
    const { errors } = await graphql('{ pets { liveCursor } }')
    expect(errors).toMatchObject([{ message: 'A transaction that adds animals has not ended. Retry later.' }])
  }, service.databaseUrl)
})

test('a live list that waits for an open transaction is logged', async ({ service }) => {
  await openStream(service, { query: 'subscription { petCreated { node { id } } }' })
  await withClient(async (client) => {
    await client.query(`BEGIN; ${INSERT}`)
    await service.create()
    await waitUntil(() => service.metric('petstore_feed_gap_waits_total'))
    const clock = stopClock()
    await waitUntil(() => {
      clock.advance(1_000) // again and again: the feed compares its clock with a moment that it has read before
      return service.log.lines.some(({ msg, resource }) => msg === WAITS && resource === 'animals')
    })
  }, service.databaseUrl)
})

/** Less than the 60 s for which the stream would wait. */
const timeout = 30_000

test(
  'an instance whose streams wait for an open transaction stops at once, and logs no error',
  { timeout },
  async ({ service }) => {
    await service.create()
    await withClient(async (client) => {
      await client.query(`BEGIN; ${INSERT}`)
      await service.create()
      const peer = await service.startPeer()
      await openStream(peer, { query: 'subscription { petCreated(after: "YWxsOjE") { node { id } } }' }) // all:1
      await peer.stop(0, 0)
      expect(peer.log.lines.filter(({ level }) => Number(level) > 30)).toEqual([])
    }, service.databaseUrl)
  },
)
