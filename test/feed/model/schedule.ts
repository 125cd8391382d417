import fc from 'fast-check'
import type { Animal } from '../../../src/pets/animal.ts'

const status = fc.constantFrom<Animal['status']>(null, 'available', 'sold')
/** Some are more than a page of a follower, or than the feed reads at once. */
const count = fc.oneof({ weight: 50, arbitrary: fc.integer({ min: 1, max: 3 }) }, fc.constantFrom(110, 520))
const instance = fc.nat(1)

const step = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), count, status }),
  // Shorter and longer than the waits for open transactions.
  fc.record({ kind: fc.constant('pause' as const), ms: fc.constantFrom(0, 20, 20, 300, 300, 700, 3_000) }),
)
/** A transaction of another program. */
const transaction = fc.record({
  kind: fc.constant('transaction' as const),
  steps: fc.array(step, { maxLength: 4 }),
  isPrepared: fc.boolean(),
  end: fc.constantFrom('commit', 'commit', 'rollback', 'stay open', 'stay open'),
})
/** A request to an instance. */
const create = fc.record({ kind: fc.constant('create' as const), instance, status })
/** Each does one thing after the other. */
const writers = fc.array(fc.array(fc.oneof(create, transaction), { maxLength: 4 }), { minLength: 2, maxLength: 3 })

/** One connection of a client. */
const session = fc.record({
  instance,
  /** After how many turns the client cuts it; undefined: never. */
  cutAfter: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined, freq: 8 }),
  /** For how many turns it reads nothing. */
  pauses: fc.constantFrom(0, 0, 10),
})
const client = fc.record({
  filter: fc.constantFrom({}, { status: 'available' }, { status: 'sold' }, { categoryId: '1' }),
  pageSize: fc.constantFrom(2, 100),
  sessions: fc.array(session, { maxLength: 4 }),
})
const fault = fc.record({
  kind: fc.constantFrom('restart of the database', 'lost messages', 'restart of an instance', 'backup'),
  afterTurns: fc.nat(100),
  instance,
})

export const schedule = fc.record({
  /** Of the scheduler. One that fast-check generates goes on where its last run ended, so no path would repeat a failure. */
  seed: fc.noShrink(fc.integer()),
  writers,
  clients: fc.array(client, { minLength: 1, maxLength: 2 }),
  faults: fc.array(fault, { maxLength: 5 }),
  /** After the restore of the backup, if there is one. */
  writersAfterRestore: writers,
})

type Generated<T> = T extends fc.Arbitrary<infer Value> ? Value : never
export type Schedule = Generated<typeof schedule>
export type Session = Generated<typeof session>
export type ClientPlan = Generated<typeof client>
export type Writer = Schedule['writers'][number]
export type Fault = Generated<typeof fault>
export type TransactionPlan = Generated<typeof transaction>
