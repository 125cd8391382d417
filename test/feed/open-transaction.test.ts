import { expect } from 'vitest'
import { openStream } from '../support/event-stream.ts'
import { testWithService as test, withClient } from '../support/harness.ts'
import { stopClock, waitUntil } from '../support/timeouts.ts'

const OPEN = "BEGIN; INSERT INTO animal (name, category_id) VALUES ('held', 1)"
const WAITS = 'new items wait for an open transaction'

test('an open transaction is named by a page with a liveCursor, and logged for a live list', async ({ service }) => {
  await openStream(service, { query: 'subscription { petCreated { node { id } } }' })
  await withClient(async (client) => {
    await client.query(OPEN)
    const { graphql } = await service.startPeer({ HANDLER_TIMEOUT_MS: 5_000 }) // which has found no settled id yet
    const { errors } = await graphql('{ pets { liveCursor } }')
    expect(errors).toMatchObject([{ message: 'A transaction that adds animals has not ended. Retry later.' }])
    await service.create()
    await waitUntil(() => service.metric('petstore_feed_gap_waits_total'))
    const clock = stopClock()
    await waitUntil(() => {
      clock.advance(1_000) // again and again: the feed compares its clock with a moment that it has read before
      return service.log.lines.some(({ msg, resource }) => msg === WAITS && resource === 'animals')
    })
  }, service.databaseUrl)
})
