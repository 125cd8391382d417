import { addressCases } from '../catalogue/addresses.ts'
import { bodyCases } from '../catalogue/bodies.ts'
import { type Case, errorOf } from '../catalogue/case.ts'
import { graphqlCases } from '../catalogue/graphql.ts'
import { keyCases } from '../catalogue/keys.ts'
import { protocolCases } from '../catalogue/protocol.ts'
import { parse, talk } from '../raw.ts'
import { createClient } from './client.ts'
import { createStore, issueKey, startCluster } from './cluster.ts'
import { atLeast, definePart, exactly, quantile, told } from './figures.ts'
import { startInstance, unhurried } from './instance.ts'
import { whileHeld } from './pool.ts'

const cases = [...keyCases, ...bodyCases, ...addressCases, ...protocolCases, ...graphqlCases]

/** Every row of the catalogue that is answered without the database, while a lock holds every connection to it. */
export const held = definePart({ atOnce: 20 }, async (defer, { atOnce }) => {
  const { url } = await startCluster(defer)
  await createStore(url)
  const service = await startInstance(defer, { DATABASE_URL: url, ...unhurried })
  const wrong: string[] = []
  const times: number[] = []
  let leastHeld = Number.POSITIVE_INFINITY

  async function ask(one: Case, key: string): Promise<void> {
    const began = performance.now()
    const answer = parse(await talk(service.port, one.bytes(key)))
    times.push(performance.now() - began)
    const { code } = errorOf(answer) as { code: string } // of an Error body; else it is wrong
    if (answer.status !== one.status || code !== one.code) wrong.push(`${one.title}: ${answer.status} ${code}`)
  }

  for (let from = 0; from < cases.length; from += atOnce) {
    const key = await issueKey(url)
    const client = createClient(service.port, key)
    await client.send('GET', '/v1/pets') // the key is known from now on, for five seconds
    const work = () => Promise.all(cases.slice(from, from + atOnce).map((one) => ask(one, key)))
    leastHeld = Math.min(leastHeld, await whileHeld(url, client, work))
    client.close()
  }
  if (wrong.length) console.error('Answered otherwise:', wrong)
  return [
    told('cases', cases.length),
    atLeast('connections of the pool that waited for the lock, at least', leastHeld, 10),
    exactly('cases answered otherwise than their row says', wrong.length, 0),
    told('median of their answers', quantile(times, 0.5), 'ms'),
    told('longest of their answers', quantile(times, 1), 'ms'),
  ]
})
