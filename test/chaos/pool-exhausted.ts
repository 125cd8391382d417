import { addressCases } from '../catalogue/addresses.ts'
import { bodyCases } from '../catalogue/bodies.ts'
import { ask as askGraphQL, type Case, errorOf } from '../catalogue/case.ts'
import { floods, floodsOfTokens, graphqlCases } from '../catalogue/graphql.ts'
import { keyCases } from '../catalogue/keys.ts'
import { protocolCases } from '../catalogue/protocol.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'
import { createClient } from './client.ts'
import { prepareDatabase, issueKey, startCluster } from './cluster.ts'
import { atLeast, atMost, definePart, exactly, onQuietMachine, quantile, info } from './assertions.ts'
import { startInstance, UNHURRIED } from './instance.ts'
import { whilePoolBlocked } from './pool.ts'

/** Longest that a flood of GraphQL takes to be refused when the service has nothing else to do, in milliseconds. */
const floodMs = 20

const cases = [...keyCases, ...bodyCases, ...addressCases, ...protocolCases, ...graphqlCases]

/** Every row of the catalogue that is answered without the database, while a lock holds every connection to it. */
export const poolExhausted = definePart({ atOnce: 20 }, async (defer, { atOnce }) => {
  const { url } = await startCluster(defer)
  await prepareDatabase(url)
  const service = await startInstance(defer, { DATABASE_URL: url, ...UNHURRIED })
  const wrong: string[] = []
  const times: number[] = []
  let leastHeld = Number.POSITIVE_INFINITY

  async function ask(one: Case, key: string): Promise<number> {
    const began = performance.now()
    const answer = parseResponse(await sendRaw(service.port, one.bytes(key)))
    const took = performance.now() - began
    const { code } = errorOf(answer) as { code: string } // of an Error body; else it is wrong
    if (answer.status !== one.status || code !== one.code) wrong.push(`${one.title}: ${answer.status} ${code}`)
    return took
  }

  for (let from = 0; from < cases.length; from += atOnce) {
    const key = await issueKey(url)
    const client = createClient(service.port, key)
    await client.send('GET', '/v1/pets') // the key is known from now on, for five seconds
    const work = () => Promise.all(cases.slice(from, from + atOnce).map(async (one) => times.push(await ask(one, key))))
    leastHeld = Math.min(leastHeld, await whilePoolBlocked(url, client, work))
    client.close()
  }
  const key = await issueKey(url)
  let slowestFloodMs = 0
  for (const [title, query] of [...floods, ...floodsOfTokens]) {
    const code = floods.some(([other]) => other === title) ? 'GRAPHQL_VALIDATION_FAILED' : 'GRAPHQL_PARSE_FAILED'
    const took: number[] = []
    // One after the other, and each another text: what is known of a document is no measure of it.
    for (let n = 0; n < 5; n++) {
      took.push(await ask(askGraphQL(title, { query: `${query}\n#${n}` }, { status: 400, code }), key))
    }
    slowestFloodMs = Math.max(slowestFloodMs, Math.min(...took))
  }
  if (wrong.length) console.error('Answered otherwise:', wrong)
  return [
    info('cases', cases.length),
    atLeast('connections of the pool that waited for the lock, at least', leastHeld, 10),
    exactly('cases answered otherwise than their row says', wrong.length, 0),
    info('median of their answers', quantile(times, 0.5), 'ms'),
    info('longest of their answers', quantile(times, 1), 'ms'),
    onQuietMachine(atMost('slowest flood of GraphQL, at its fastest of five', slowestFloodMs, floodMs, 'ms')),
  ]
})
