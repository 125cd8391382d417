import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createPet, type Creation, type Outcome, statusOf } from './client.ts'
import { exactly, type Measurement, info } from './assertions.ts'

/** What clients know of every animal that they sent, by its name, which nobody else has. */
export interface Ledger {
  readonly sent: number
  readonly acknowledged: number
  /** Resolves as soon as so many are acknowledged. */
  reaches(acknowledgements: number): Promise<void>
  /**
   * Keeps creating animals through both faces, so many at a time, until told to stop. A third of them have an
   * Idempotency-Key and are sent again until they are acknowledged, the others once.
   */
  write(client: Client, concurrency: number): { stop(): Promise<void> }
  /** Sends one more. */
  create(client: Client): Promise<Creation>
  /** How often each status was answered in all, or since such counts were taken; 0 stands for no answer. */
  statuses(since?: Map<number, number>): Map<number, number>
  /** The longest that an answer took. */
  readonly slowestMs: number
  /** Holds what clients know against the animals that are there. */
  audit(animals: { id: string; name: string }[]): Measurement[]
}

export function createLedger(): Ledger {
  const known = new Map<string, { outcome?: Outcome; id?: string | undefined }>()
  const counts: Record<Outcome, number> = { acknowledged: 0, refused: 0, unknown: 0, 'in flight': 0, wrong: 0 }
  const wrong: string[] = []
  const statuses = new Map<number, number>()
  let slowestMs = 0
  let watchers: { at: number; resolve(): void }[] = []

  function record(name: string, { outcome, id, reply }: Creation): void {
    const before = known.get(name)?.outcome
    counts[outcome]++
    const status = statusOf(reply)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    slowestMs = Math.max(slowestMs, reply.ms)
    if (outcome === 'wrong') wrong.push(`${reply.status} ${reply.body.slice(0, 200)}`)
    // What may have happened once stays possible until it is acknowledged; a later refusal does not take it back.
    const outcomeNow = outcome === 'acknowledged' || before !== 'unknown' ? outcome : 'unknown'
    known.set(name, { outcome: outcomeNow, id })
    const due = watchers.filter(({ at }) => at <= counts.acknowledged)
    if (due.length) watchers = watchers.filter((watcher) => !due.includes(watcher))
    due.forEach(({ resolve: tell }) => tell())
  }

  async function create(client: Client, stopped = () => true): Promise<Creation> {
    const n = known.size
    const name = `animal ${n}`
    const face = n % 2 ? 'graphql' : 'rest'
    const once = n % 3 ? undefined : `key-${n}`
    known.set(name, {})
    for (;;) {
      const creation = await createPet(client, face, name, once)
      record(name, creation)
      if (creation.outcome === 'acknowledged' || creation.outcome === 'wrong') return creation
      if (!once || stopped()) return creation
      await sleep(20) // as a client waits before it tries again
    }
  }

  return {
    get sent() {
      return known.size
    },
    get acknowledged() {
      return counts.acknowledged
    },
    get slowestMs() {
      return slowestMs
    },
    statuses: (since) =>
      new Map(
        [...statuses]
          .map(([status, count]) => [status, count - (since?.get(status) ?? 0)] as const)
          .filter(([, n]) => n),
      ),
    create: (client) => create(client),
    reaches: (at) =>
      new Promise((tell) => {
        if (counts.acknowledged >= at) tell()
        else watchers.push({ at, resolve: tell })
      }),
    write(client, concurrency) {
      const stopping = new AbortController()
      async function writer() {
        while (!stopping.signal.aborted) {
          const { outcome } = await create(client, () => stopping.signal.aborted)
          if (outcome !== 'acknowledged') await sleep(10)
        }
      }
      const writers = Promise.all(Array.from({ length: concurrency }, writer))
      return {
        async stop() {
          stopping.abort()
          await writers
        },
      }
    },
    audit(animals) {
      const found = new Map<string, string[]>()
      for (const { id, name } of animals) found.set(name, [...(found.get(name) ?? []), id])
      const of = (outcome: Outcome) => [...known].filter(([, it]) => it.outcome === outcome)
      const lost = of('acknowledged').filter(([name, { id }]) => !found.get(name)?.includes(id ?? ''))
      const doubled = [...found.values()].filter((ids) => ids.length > 1)
      const stranger = [...found.keys()].filter((name) => !known.has(name))
      const refused = [...of('refused'), ...of('in flight')].filter(([name]) => found.has(name))
      if (wrong.length) console.error('Answers that are none of 201, 409, 503, 504:', [...new Set(wrong)].slice(0, 5))
      return [
        info('animals sent', known.size),
        info('acknowledged', of('acknowledged').length),
        info('of unknown outcome, and there', of('unknown').filter(([name]) => found.has(name)).length),
        info('of unknown outcome, and not there', of('unknown').filter(([name]) => !found.has(name)).length),
        info('refused (503, or no connection)', of('refused').length),
        exactly('answers that are none of 201, 409, 503, 504', counts.wrong, 0),
        exactly('acknowledged, but lost', lost.length, 0),
        exactly('there twice', doubled.length, 0),
        exactly('there, but sent by nobody', stranger.length, 0),
        exactly('there, but refused', refused.length, 0),
      ]
    },
  }
}
