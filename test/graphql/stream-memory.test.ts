import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, onTestFinished } from 'vitest'
import { toCursor } from '../../src/pets/animal.ts'
import { limits } from '../../src/graphql/limits.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'

const STREAMS = 100
/** Of a length at which V8 keeps the text from which a literal was cut. */
const NEWEST = 123_456_789_012n

test('an open stream keeps of its request the text of the document, and neither its tree nor variables', async ({
  service,
}) => {
  const padding = 'x'.repeat(50_000)
  await service.database.pool.query(`INSERT INTO animal (id, name, category_id) VALUES (${NEWEST}, 'Rex', 1)`)
  const query = `subscription { petCreated(after: "${toCursor(NEWEST)}") { node { id } } }`
  // The cache of documents is full before, so that it does not grow meanwhile.
  for (let n = 0; n < 100; n++) await service.graphql(`{ __typename } # ${n} ${padding}`)
  /** Opens streams and returns how much one keeps of the heap, in bytes. */
  const measure = async (toBody: (n: number) => object) => {
    const before = usedHeapBytes()
    await openStreams(service, toBody)
    return (usedHeapBytes() - before) / STREAMS
  }
  await openStreams(service, () => ({ query })) // compiles the code
  const small = await measure(() => ({ query }))
  const longest = (n: number) => `${query} # ${n} `.padEnd(limits.subscriptionLength, 'x')
  const kept = {
    document: (await measure((n) => ({ query: longest(n) }))) - small,
    variables: (await measure(() => ({ query, variables: { padding } }))) - small,
  }
  expect(await (await service.send('/metrics')).text()).toContain(`\npetstore_streams ${4 * STREAMS}\n`)
  expect(kept.document).toBeLessThan(3 * limits.subscriptionLength) // nearly twice is usual; the tree takes up to 100 times
  expect(kept.variables).toBeLessThan(padding.length / 2)
})

/** Opens streams, and waits until each has begun. They are closed after the test. */
async function openStreams({ port, key }: TestService, toBody: (n: number) => object): Promise<void> {
  for (let n = 0; n < STREAMS; n++) {
    const body = JSON.stringify(toBody(n))
    const head = `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nAccept: text/event-stream\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.write(head + body)
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /)
  }
}
