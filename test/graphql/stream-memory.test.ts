import { once } from 'node:events'
import { expect } from 'vitest'
import { toCursor } from '../../src/pets/animal.ts'
import { DOCUMENT_LIMITS } from '../../src/graphql/document-limits.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { openSocket, rawPost } from '../support/raw-http.ts'

const { subscriptionLength, aliases } = DOCUMENT_LIMITS
const STREAMS = 200
/** Of a length at which V8 keeps the text from which a literal was cut. */
const NEWEST = 123_456_789_012n

/** A subscription that is as long as one may be, of as many fields as one may have. */
function longest(n: number): string {
  const alias = `a${n}_`.padEnd(subscriptionLength.limit / aliases.limit - 10, 'x')
  const fields = Array.from({ length: aliases.limit }, (_, i) => `${alias}${i}: id`)
  return `subscription { petCreated(after: "${toCursor(NEWEST)}") { node { ${fields.join(' ')} } } }`
}

test('an open stream keeps the text of its document, not its tree, variables or URL', async ({ service }) => {
  const padding = 'x'.repeat(50_000)
  const setNext = `SELECT setval('animal_id_seq', ${NEWEST}, false)`
  await service.database.pool.query(`${setNext}; INSERT INTO animal (name, category_id) VALUES ('Rex', 1)`)
  const query = `subscription { petCreated(after: "${toCursor(NEWEST)}") { node { id } } }`
  // The cache of documents is full before, so that it does not grow meanwhile.
  for (let n = 0; n < 200; n++) await service.graphql(`{ pets { nodes { ${longest(n).match(/a\d+_.*id/)?.[0]} } } }`)
  /** Opens streams and returns how much one keeps of the heap, in bytes. */
  const measure = async (toBody: (n: number) => object, path?: string) => {
    const before = usedHeapBytes()
    await openStreams(service, toBody, path)
    return (usedHeapBytes() - before) / STREAMS
  }
  await openStreams(service, () => ({ query })) // compiles the code
  const small = await measure(() => ({ query }))
  const ofDocument = (await measure((n) => ({ query: longest(n) }))) - small
  const path = `/graphql?${padding.slice(0, 15_000)}`
  const ofRest = (await measure(() => ({ query, variables: { padding } }), path)) - small
  expect(await service.metric('petstore_streams')).toBe(4 * STREAMS)
  expect(ofDocument).toBeLessThan(3 * subscriptionLength.limit) // nearly twice is usual; the tree takes much more
  expect(ofRest).toBeLessThan(11_000) // 4,000 is usual, and the length of what is kept is added
})

/** Opens streams, and waits until each has begun. They are closed after the test. */
async function openStreams({ port, key }: TestService, toBody: (n: number) => object, path = '/graphql') {
  for (let n = 0; n < STREAMS; n++) {
    const lines = ['Accept: text/event-stream']
    const socket = openSocket(port, rawPost({ path, key, body: toBody(n), lines }))
    expect(String(await once(socket, 'data'))).toMatch(/^HTTP\/1\.1 200 /)
  }
}
