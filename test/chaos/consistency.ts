import { type Client, createClient, createPet, type Api, type ClientResponse } from './client.ts'
import { animalsIn, prepareDatabase, startCluster, type TestDatabase } from './cluster.ts'
import { definePart, type Defer, exactly, type Measurement, info } from './assertions.ts'
import { startInstance, PATIENT } from './instance.ts'

interface Sizes {
  creations: number
  keys: number
}

/** Two instances on one database: a read of either returns every acknowledged animal; one Idempotency-Key, one animal. */
export const consistency = definePart({ creations: 3_000, keys: 1_000 }, async (defer, sizes) => {
  const { url } = await startCluster(defer)
  return acrossInstances(defer, await prepareDatabase(url), sizes)
})

export async function acrossInstances(
  defer: Defer,
  { url, key }: TestDatabase,
  { creations, keys }: Sizes,
): Promise<Measurement[]> {
  const instances = await Promise.all([1, 2].map(() => startInstance(defer, { DATABASE_URL: url, ...PATIENT })))
  const [a, b] = instances.map(({ port }) => createClient(port, key))
  if (!a || !b) throw new Error('Two instances were started')
  defer(() => [a, b].forEach((client) => client.close()))
  return [...(await readAfterWrite(a, b, url, creations)), ...(await repeatKeys(a, b, url, keys))]
}

const APIS: Api[] = ['rest', 'graphql']

/** Creates animals, and reads each from the other instance as soon as it is acknowledged. */
async function readAfterWrite(a: Client, b: Client, url: string, creations: number): Promise<Measurement[]> {
  const created: { id: string; name: string }[] = []
  let [stale, unread, failed, next] = [0, 0, 0, 0]
  async function worker(): Promise<void> {
    for (let n = next++; n < creations; n = next++) {
      const [client, other] = n % 2 ? [a, b] : [b, a]
      const name = `animal ${n}`
      const { id, response } = await createPet(client, APIS[(n >> 1) % 2] ?? 'rest', name)
      if (id === undefined) {
        failed++
        console.error('Failed:', response)
        continue
      }
      created.push({ id, name })
      for (const api of APIS) {
        const [list, animal] = await Promise.all([readList(other, api), readOne(other, api, id)])
        for (const response of [list, animal]) {
          if (response.status !== 200) unread++
          else if (!response.body.includes(`"name":"${name}"`)) stale++
        }
      }
    }
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  const stored = new Map((await animalsIn(url)).map(({ id, name }) => [id, name]))
  return [
    info('animals created, on both instances through both APIs', created.length),
    info('reads on the other instance after the acknowledgement', created.length * 4),
    exactly('creations that failed', failed, 0),
    exactly('reads that failed', unread, 0),
    exactly('reads that were stale', stale, 0),
    exactly('animals lost', created.filter(({ id, name }) => stored.get(id) !== name).length, 0),
    exactly('animals that were never created', stored.size - created.length, 0),
  ]
}

function readList(client: Client, api: Api): Promise<ClientResponse> {
  const query = JSON.stringify({ query: '{pets(first:20){nodes{id name}}}' })
  return api === 'rest' ? client.send('GET', '/v1/pets') : client.send('POST', '/graphql', query)
}

function readOne(client: Client, api: Api, id: string): Promise<ClientResponse> {
  const query = JSON.stringify({ query: 'query($id:ID!){pet(id:$id){id name}}', variables: { id } })
  return api === 'rest' ? client.send('GET', `/v1/pets/${id}`) : client.send('POST', '/graphql', query)
}

/** Sends eight concurrent creations with each Idempotency-Key, to both instances through both APIs. */
async function repeatKeys(a: Client, b: Client, url: string, keys: number): Promise<Measurement[]> {
  let [responses, replays, inFlight, different, wrong] = [0, 0, 0, 0, 0]
  for (let n = 0; n < keys; n++) {
    const sent = Array.from({ length: 8 }, (_, i) =>
      createPet(i % 2 ? a : b, APIS[(i >> 1) % 2] ?? 'rest', `once ${n}`, `key-${n}`),
    )
    const creations = await Promise.all(sent)
    const acknowledged = creations.filter(({ outcome }) => outcome === 'acknowledged')
    responses += creations.length
    replays += Math.max(0, acknowledged.length - 1)
    inFlight += creations.filter(({ outcome }) => outcome === 'in flight').length
    if (new Set(acknowledged.map(({ id }) => id)).size !== 1) different++
    wrong += creations.filter(({ outcome }) => outcome !== 'acknowledged' && outcome !== 'in flight').length
  }
  const keyed = (await animalsIn(url)).filter(({ name }) => name.startsWith('once '))
  return [
    info('Idempotency-Keys, each sent in eight concurrent requests', keys),
    info('… replayed responses', replays),
    info('… 409 responses', inFlight),
    exactly('… unexpected responses', wrong, 0),
    exactly('… keys with no animal, or with several', different, 0),
    exactly('animals created', keyed.length, keys),
    exactly('animals created twice', keyed.length - new Set(keyed.map(({ name }) => name)).size, 0),
    exactly('responses in total', responses, 8 * keys),
  ]
}
