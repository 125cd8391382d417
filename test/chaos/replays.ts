import { exactly, info, type Measurement } from './assertions.ts'
import { type Api, type Client, createClient, createPet, type Creation, statusOf } from './client.ts'
import type { StoredAnimal } from './stream-audit.ts'

/** How many animals are created at the same time for each kind of replay: a batch of keys is one statement. */
const REPEATS = 5

const APIS: Api[] = ['rest', 'graphql']

interface Sender {
  client: Client
  api: Api
}

interface Replay {
  name: string
  /** Those of both instances in turn. The first two may be 409 if they were sent at the same time. */
  creations: Creation[]
  /** A creation of another animal with the same key, which must be 422. */
  reused: Creation
}

/** Names begin with this word, so that other audits leave the animals out. */
const isReplay = ({ name }: { name: string }) => name.startsWith('replay ')
export const isNoReplay = (animal: { name: string }) => !isReplay(animal)

/** Sends creations with the same Idempotency-Key to two instances, through both APIs. */
export function createReplays(key: string) {
  const replays: Replay[] = []
  let sent = 0

  async function replay(first: Sender, second: Sender, atOnce: boolean): Promise<void> {
    const name = `replay ${sent++}`
    const send = ({ client, api }: Sender, animal = name) =>
      createPet(client, api, animal, name.replace(' ', '-'), 'sold')
    const creations = atOnce ? await Promise.all([send(first), send(second)]) : [await send(first)]
    creations.push(await send(second), await send(first))
    replays.push({ name, creations, reused: await send(second, `${name}, reused`) })
  }

  return {
    /** One instance creates what the other one repeats, in both directions, and both at the same time. */
    async send(ports: number[]): Promise<void> {
      const clients = ports.map((port) => createClient(port, key))
      const senders = clients.flatMap((client) => APIS.map((api) => ({ client, api })))
      const pairs = senders.flatMap((first) =>
        senders.filter(({ client }) => client !== first.client).map((second) => [first, second] as const),
      )
      for (const [first, second] of pairs)
        for (const atOnce of [false, true])
          await Promise.all(Array.from({ length: REPEATS }, () => replay(first, second, atOnce)))
      clients.forEach((client) => client.close())
    },
    audit(stored: StoredAnimal[]): Measurement[] {
      const responses = replays.flatMap(({ creations }) => creations)
      const outcomes = (outcome: Creation['outcome']) => responses.filter((creation) => creation.outcome === outcome)
      const failed = responses.filter(({ outcome }) => outcome !== 'acknowledged' && outcome !== 'in flight')
      if (failed.length) console.error('Replays:', failed[0]?.response.status, failed[0]?.response.body.slice(0, 200))
      const idOf = new Map(stored.map(({ id, name }) => [name, id]))
      const hasOneId = ({ name, creations }: Replay) => {
        const ids = new Set(creations.flatMap(({ id }) => id ?? []))
        return ids.size === 1 && ids.has(idOf.get(name) ?? '')
      }
      return [
        info('idempotency keys that two instances got', replays.length),
        info('… creations', responses.length),
        info('… 409, sent at the same time', outcomes('in flight').length),
        exactly('… neither 201 nor 409', failed.length, 0),
        exactly('… keys with another animal than the one stored', replays.filter((one) => !hasOneId(one)).length, 0),
        exactly('… animals more than keys', stored.filter(isReplay).length - replays.length, 0),
        exactly(
          '… not 422 for another animal',
          replays.filter(({ reused }) => statusOf(reused.response) !== 422).length,
          0,
        ),
      ]
    },
  }
}
