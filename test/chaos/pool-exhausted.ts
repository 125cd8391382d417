import { addressCases } from '../catalogue/addresses.ts'
import { bodyCases, longNumbers } from '../catalogue/bodies.ts'
import { type Case, errorOf, postGraphQL, statusOf } from '../catalogue/case.ts'
import { floods, floodsOfTokens, graphqlCases } from '../catalogue/graphql.ts'
import { keyCases } from '../catalogue/keys.ts'
import { protocolCases } from '../catalogue/protocol.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'
import { createClient } from './client.ts'
import { prepareDatabase, issueKey, startCluster } from './cluster.ts'
import { atLeast, atMost, definePart, exactly, onQuietMachine, quantile, info } from './assertions.ts'
import { startInstance, PATIENT } from './instance.ts'
import { whilePoolBlocked } from './pool.ts'

/** Maximum time in which an idle service rejects a flood of GraphQL, in milliseconds. */
const MAX_FLOOD_MS = 20

const cases = [...keyCases, ...bodyCases, ...addressCases, ...protocolCases, ...graphqlCases]

/** Sends every case of the catalogue while a table lock blocks every connection of the pool. */
export const poolExhausted = definePart({ atOnce: 20 }, async (defer, { atOnce }) => {
  const { url } = await startCluster(defer)
  await prepareDatabase(url)
  const service = await startInstance(defer, { DATABASE_URL: url, ...PATIENT })
  const unexpected: string[] = []
  const times: number[] = []
  let leastBlocked = Number.POSITIVE_INFINITY

  /** @returns how long the response took, in milliseconds */
  async function sendCase(row: Case, key: string): Promise<number> {
    const startedAt = performance.now()
    const response = parseResponse(await sendRaw(service.port, row.bytes(key)))
    const ms = performance.now() - startedAt
    const { code } = errorOf(row, response) as { code: string } // any other body has no code, and fails the comparison
    if (response.status !== statusOf(row, response) || code !== row.code)
      unexpected.push(`${row.title}: ${response.status} ${code}`)
    return ms
  }

  for (let from = 0; from < cases.length; from += atOnce) {
    const key = await issueKey(url)
    const client = createClient(service.port, key)
    await client.send('GET', '/v1/pets') // from now on the service caches the key, for two seconds
    const work = () =>
      Promise.all(cases.slice(from, from + atOnce).map(async (row) => times.push(await sendCase(row, key))))
    leastBlocked = Math.min(leastBlocked, await whilePoolBlocked(url, client, work))
    client.close()
  }
  const key = await issueKey(url)
  let slowestFloodMs = 0
  const allFloods = [
    ...floods.map(([title, query]) => ({ title, query, httpStatus: 422, code: 'GRAPHQL_VALIDATION_FAILED' })),
    ...floodsOfTokens.map(([title, query]) => ({ title, query, httpStatus: 400, code: 'GRAPHQL_PARSE_FAILED' })),
  ]
  for (const { title, query, ...rejected } of allFloods) {
    const durations: number[] = []
    // Each text is different, since the service caches documents.
    for (let n = 0; n < 5; n++) {
      durations.push(
        await sendCase(postGraphQL(title, { query: `${query}\n#${n}` }, { status: 400, ...rejected }), key),
      )
    }
    slowestFloodMs = Math.max(slowestFloodMs, Math.min(...durations))
  }
  let slowestNumberMs = 0
  for (const row of longNumbers) {
    const durations: number[] = []
    for (let n = 0; n < 5; n++) durations.push(await sendCase(row, key))
    slowestNumberMs = Math.max(slowestNumberMs, Math.min(...durations))
  }
  if (unexpected.length) console.error('Unexpected responses:', unexpected)
  return [
    info('cases', cases.length),
    atLeast('connections of the pool that waited for the lock', leastBlocked, 10),
    exactly('unexpected responses', unexpected.length, 0),
    info('median response time', quantile(times, 0.5), 'ms'),
    info('maximum response time', quantile(times, 1), 'ms'),
    onQuietMachine(atMost('slowest flood of GraphQL, best of five runs', slowestFloodMs, MAX_FLOOD_MS, 'ms')),
    onQuietMachine(atMost('slowest body of long numbers, best of five runs', slowestNumberMs, MAX_FLOOD_MS, 'ms')),
  ]
})
