import { ApiError } from '../../../src/errors.ts'
import { Client, startInstance, type World } from './client.ts'
import { Clock } from './clock.ts'
import { type Backup, PostgresModel, type ServerFault, Transaction } from './postgres.ts'
import { Scheduler } from './scheduler.ts'
import type { Fault, Schedule, TransactionPlan, Writer } from './schedule.ts'

/** Most schedules take some hundred. */
const MAX_TURNS = 10_000

/**
 * Runs a schedule until every client has what the database has.
 * @throws the error of the first client that misses an animal, or receives one that it should not
 */
export async function simulate(plan: Schedule, setClock: (clock: Clock) => void, fault?: ServerFault): Promise<void> {
  const scheduler = new Scheduler(plan.seed)
  let turns = 0
  let fail: World['fail'] = () => {}
  const failed = new Promise<never>((_resolve, reject) => (fail = (message) => reject(new Error(message))))
  const turn = () => {
    if (turns++ === MAX_TURNS) fail(`The clients still wait for ${clients.map((client) => client.firstMissing())}`)
    return scheduler.turn()
  }
  const clock = new Clock(turn)
  setClock(clock)
  const database = new PostgresModel(turn, fault)
  const world: World = { turn, clock, database, instances: [], fail }
  world.instances.push(startInstance(world), startInstance(world))
  const clients = plan.clients.map((one, n) => new Client(BigInt(n), one, world))
  await scheduler.waitFor(Promise.race([run(plan, world, clients), failed]))
}

async function run({ writers, faults, writersAfterRestore }: Schedule, world: World, clients: Client[]): Promise<void> {
  const { turn, clock, database, instances } = world
  const write = createWrite(world)
  let backup: Backup | undefined

  async function inject({ kind, afterTurns, instance }: Fault): Promise<void> {
    for (let n = 0; n < afterTurns; n++) await turn('fault')
    if (kind === 'backup') backup = { rows: database.rows, lastId: database.lastId }
    else if (kind === 'restart of the database') database.restart()
    else if (kind === 'lost messages') database.failures += 3
    else instances.splice(instance, 1, startInstance(world))[0]?.streams.drain(10)
  }

  async function until(isDone: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await isDone())) {
      clients.forEach((client) => client.checkComplete())
      await turn('check')
    }
  }

  /** Whether feeds and clients have noticed a restore. */
  async function isNoticed(): Promise<boolean> {
    const ends = await Promise.all(instances.map(({ feed }) => feed.settledId().catch(() => undefined)))
    const isKnown = (id = database.lastId + 1n) => id <= database.lastId
    // After a failed read, a settled id is that of the database, while streams may still read what the feed has kept.
    if (instances.some(({ feed }) => feed.hasFailed)) return false
    return ends.every(isKnown) && clients.every((client) => !client.isReceiving && isKnown(client.position ?? 0n))
  }

  for (const client of clients) void client.run()
  const [open] = await Promise.all([write(writers), ...faults.map(inject)])
  await Promise.all(open.map((transaction) => transaction.commit()))
  if (backup) {
    // What docs/feed.md assumes: each feed has a failed read, and nothing is added before the restore is noticed.
    await database.restore(backup, () => clock.sleep(700))
    await until(isNoticed)
    const openAfterRestore = await write(writersAfterRestore)
    await Promise.all(openAfterRestore.map((transaction) => transaction.commit()))
  }
  await until(() => clients.every((client) => client.position !== undefined && client.firstMissing() === undefined))
}

/** @returns executes what each of several writers does, one thing after the other, and returns their transactions */
function createWrite({ turn, clock, database, instances, fail }: World) {
  let names = 0

  async function transact({ steps, isPrepared, end }: TransactionPlan): Promise<Transaction> {
    const transaction = new Transaction(database)
    for (const step of steps) {
      await turn(step.kind)
      if (step.kind === 'insert') {
        const padding = 'x'.repeat(step.count > 100 ? 200 : 0) // more than fits into one part of a stream
        const toName = () => `inserted ${names++}${padding}`
        const toRow = () => ({ name: toName(), categoryId: BigInt(names % 2), status: step.status })
        await transaction.insert(Array.from({ length: step.count }, toRow))
      } else await clock.sleep(step.ms)
    }
    await turn(end)
    if (!transaction.isOpen) return transaction
    transaction.isPrepared = isPrepared
    await turn(end)
    if (end === 'commit') await transaction.commit()
    else if (end === 'rollback') transaction.rollBack()
    return transaction
  }

  return async (writers: Writer[]): Promise<Transaction[]> => {
    const transactions: Transaction[] = []
    const execute = async (writer: Writer) => {
      for (const step of writer) {
        await turn('write')
        if (step.kind === 'transaction') transactions.push(await transact(step))
        else {
          const pet = { name: `created ${names++}`, categoryId: BigInt(names % 2), status: step.status ?? undefined }
          const created = instances[step.instance]?.create(pet)
          await created?.catch((error: unknown) => error instanceof ApiError || fail(String(error)))
        }
      }
    }
    await Promise.all(writers.map(execute))
    return transactions
  }
}
