import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, createPet, type Creation, type Outcome, statusOf } from './client.ts'
import { exactly, type Measurement, info } from './assertions.ts'

const STATUSES = [undefined, 'available', 'pending', 'sold']

/** Records the outcome of every creation that clients sent. Each animal has a unique name. */
export interface Ledger {
  readonly sent: number
  readonly acknowledged: number
  /** Resolves as soon as this number of creations is acknowledged. */
  reaches(acknowledgements: number): Promise<void>
  /**
   * Creates animals through both APIs, with this number of concurrent requests, until `stop` is called. Half of the
   * creations have an Idempotency-Key and are retried until they are acknowledged.
   */
  write(client: Client, concurrency: number): { stop(): Promise<void> }
  /** Creates one animal. */
  create(client: Client): Promise<Creation>
  /** Retries the creations with an Idempotency-Key whose outcome is unknown, until they are acknowledged. */
  retryUnknown(client: Client): Promise<void>
  /** @returns the number of responses by status, minus earlier counts; status 0 stands for no response */
  statuses(since?: Map<number, number>): Map<number, number>
  /** The maximum response time. */
  readonly slowestMs: number
  /** Compares the recorded outcomes with the animals in the database. */
  audit(animals: { id: string; name: string }[]): Measurement[]
}

/** Whether the creation with this number has an Idempotency-Key: every other one of each API. */
const hasKey = (n: number) => n % 4 < 2

export function createLedger(): Ledger {
  const creations = new Map<string, { outcome?: Outcome; id?: string | undefined }>()
  const counts: Record<Outcome, number> = { acknowledged: 0, rejected: 0, unknown: 0, 'in flight': 0, wrong: 0 }
  const unexpected: string[] = []
  const statuses = new Map<number, number>()
  let slowestMs = 0
  let watchers: { at: number; resolve(): void }[] = []

  function record(name: string, { outcome, id, response }: Creation): void {
    const before = creations.get(name)?.outcome
    counts[outcome]++
    const status = statusOf(response)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    slowestMs = Math.max(slowestMs, response.ms)
    if (outcome === 'wrong') unexpected.push(`${response.status} ${response.body.slice(0, 200)}`)
    // An unknown outcome stays unknown when a retry is rejected, since the first attempt may have succeeded.
    const outcomeNow = outcome === 'acknowledged' || before !== 'unknown' ? outcome : 'unknown'
    creations.set(name, { outcome: outcomeNow, id })
    const due = watchers.filter(({ at }) => at <= counts.acknowledged)
    if (due.length) watchers = watchers.filter((watcher) => !due.includes(watcher))
    due.forEach(({ resolve }) => resolve())
  }

  async function create(client: Client, stopped = () => true, n = creations.size): Promise<Creation> {
    const name = `animal ${n}`
    const api = n % 2 ? 'graphql' : 'rest'
    const idempotencyKey = hasKey(n) ? `key-${n}` : undefined
    if (!creations.has(name)) creations.set(name, {})
    for (;;) {
      const creation = await createPet(client, api, name, idempotencyKey, STATUSES[n % STATUSES.length])
      record(name, creation)
      if (creation.outcome === 'acknowledged' || creation.outcome === 'wrong') return creation
      if (!idempotencyKey || stopped()) return creation
      await sleep(20) // clients wait before a retry
    }
  }

  return {
    get sent() {
      return creations.size
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
    async retryUnknown(client) {
      const unknown = [...creations.values()].flatMap(({ outcome }, n) =>
        outcome === 'unknown' && hasKey(n) ? [n] : [],
      )
      for (const n of unknown) await create(client, () => false, n)
    },
    reaches: (at) =>
      new Promise((resolve) => {
        if (counts.acknowledged >= at) resolve()
        else watchers.push({ at, resolve })
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
      const idsByName = new Map<string, string[]>()
      for (const { id, name } of animals) idsByName.set(name, [...(idsByName.get(name) ?? []), id])
      const withOutcome = (outcome: Outcome) => [...creations].filter(([, creation]) => creation.outcome === outcome)
      const lost = withOutcome('acknowledged').filter(([name, { id }]) => !idsByName.get(name)?.includes(id ?? ''))
      const duplicates = [...idsByName.values()].filter((ids) => ids.length > 1)
      const unsent = [...idsByName.keys()].filter((name) => !creations.has(name))
      const storedRejected = [...withOutcome('rejected'), ...withOutcome('in flight')].filter(([name]) =>
        idsByName.has(name),
      )
      if (unexpected.length)
        console.error('Responses other than 201, 409, 503, 504:', [...new Set(unexpected)].slice(0, 5))
      return [
        info('animals sent', creations.size),
        info('acknowledged', withOutcome('acknowledged').length),
        info('unknown outcome, stored', withOutcome('unknown').filter(([name]) => idsByName.has(name)).length),
        info('unknown outcome, not stored', withOutcome('unknown').filter(([name]) => !idsByName.has(name)).length),
        info('rejected (503, or no connection)', withOutcome('rejected').length),
        exactly('responses other than 201, 409, 503, 504', counts.wrong, 0),
        exactly('acknowledged, but not stored', lost.length, 0),
        exactly('stored twice', duplicates.length, 0),
        exactly('stored, but never sent', unsent.length, 0),
        exactly('rejected, but stored', storedRejected.length, 0),
      ]
    },
  }
}
