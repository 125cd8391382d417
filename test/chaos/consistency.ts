import { type Client, createClient, createPet, type Api, type Reply } from './client.ts'
import { animalsIn, prepareDatabase, startCluster, type TestDatabase } from './cluster.ts'
import { definePart, type Defer, exactly, type Measurement, info } from './assertions.ts'
import { startInstance, UNHURRIED } from './instance.ts'

interface Sizes {
  creations: number
  keys: number
}

/** Two instances on one database: what one acknowledged, the other shows at once; one Idempotency-Key, one animal. */
export const consistency = definePart({ creations: 3_000, keys: 1_000 }, async (defer, sizes) => {
  const { url } = await startCluster(defer)
  return acrossInstances(defer, await prepareDatabase(url), sizes)
})

export async function acrossInstances(
  defer: Defer,
  { url, key }: TestDatabase,
  { creations, keys }: Sizes,
): Promise<Measurement[]> {
  const both = await Promise.all([1, 2].map(() => startInstance(defer, { DATABASE_URL: url, ...UNHURRIED })))
  const [a, b] = both.map(({ port }) => createClient(port, key))
  if (!a || !b) throw new Error('Two instances were started')
  defer(() => [a, b].forEach((client) => client.close()))
  return [...(await growOnly(a, b, url, creations)), ...(await sameKeys(a, b, url, keys))]
}

const APIS: Api[] = ['rest', 'graphql']

/** A set that only grows: each animal is looked for on the other instance as soon as it is acknowledged. */
async function growOnly(a: Client, b: Client, url: string, creations: number): Promise<Measurement[]> {
  const made: { id: string; name: string }[] = []
  let [stale, unread, failed, next] = [0, 0, 0, 0]
  async function worker(): Promise<void> {
    for (let n = next++; n < creations; n = next++) {
      const [here, there] = n % 2 ? [a, b] : [b, a]
      const name = `element ${n}`
      const { id, reply } = await createPet(here, APIS[(n >> 1) % 2] ?? 'rest', name)
      if (id === undefined) {
        failed++
        console.error('Failed:', reply)
        continue
      }
      made.push({ id, name })
      for (const face of APIS) {
        const [list, animal] = await Promise.all([readList(there, face), readOne(there, face, id)])
        for (const reply of [list, animal]) {
          if (reply.status !== 200) unread++
          else if (!reply.body.includes(`"name":"${name}"`)) stale++
        }
      }
    }
  }
  await Promise.all(Array.from({ length: 4 }, worker))
  const there = new Map((await animalsIn(url)).map(({ id, name }) => [id, name]))
  return [
    info('animals created, on both instances and faces', made.length),
    info('reads on the other instance right after', made.length * 4),
    exactly('creations that failed', failed, 0),
    exactly('reads that failed', unread, 0),
    exactly('reads that were stale', stale, 0),
    exactly('animals lost', made.filter(({ id, name }) => there.get(id) !== name).length, 0),
    exactly('animals that nobody created', there.size - made.length, 0),
  ]
}

function readList(client: Client, face: Api): Promise<Reply> {
  const query = JSON.stringify({ query: '{pets(first:20){nodes{id name}}}' })
  return face === 'rest' ? client.send('GET', '/v1/pets') : client.send('POST', '/graphql', query)
}

function readOne(client: Client, face: Api, id: string): Promise<Reply> {
  const query = JSON.stringify({ query: 'query($id:ID!){pet(id:$id){id name}}', variables: { id } })
  return face === 'rest' ? client.send('GET', `/v1/pets/${id}`) : client.send('POST', '/graphql', query)
}

/** Eight creations at once with one key, over both instances and faces. */
async function sameKeys(a: Client, b: Client, url: string, keys: number): Promise<Measurement[]> {
  let [answers, replays, inFlight, different, wrong] = [0, 0, 0, 0, 0]
  for (let n = 0; n < keys; n++) {
    const sent = Array.from({ length: 8 }, (_, i) =>
      createPet(i % 2 ? a : b, APIS[(i >> 1) % 2] ?? 'rest', `once ${n}`, `key-${n}`),
    )
    const creations = await Promise.all(sent)
    const acknowledged = creations.filter(({ outcome }) => outcome === 'acknowledged')
    answers += creations.length
    replays += Math.max(0, acknowledged.length - 1)
    inFlight += creations.filter(({ outcome }) => outcome === 'in flight').length
    if (new Set(acknowledged.map(({ id }) => id)).size !== 1) different++
    wrong += creations.filter(({ outcome }) => outcome !== 'acknowledged' && outcome !== 'in flight').length
  }
  const once = (await animalsIn(url)).filter(({ name }) => name.startsWith('once '))
  return [
    info('Idempotency-Keys, each sent eight times at once', keys),
    info('… answered with the same animal again', replays),
    info('… answered 409, still in flight', inFlight),
    exactly('… answered otherwise', wrong, 0),
    exactly('… whose answers named none or several animals', different, 0),
    exactly('animals made for them', once.length, keys),
    exactly('animals made twice', once.length - new Set(once.map(({ name }) => name)).size, 0),
    exactly('answers in all', answers, 8 * keys),
  ]
}
