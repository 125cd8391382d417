import type pg from 'pg'
import { Animal } from '../../../src/pets/animal.ts'
import type { ConnectionSource } from '../../../src/database/pool.ts'
import type { Turn } from './clock.ts'

type NewRow = Omit<Animal, 'id'>
export type Backup = Pick<PostgresModel, 'rows' | 'lastId'>

/** Servers that lack what docs/feed.md assumes. */
export const SERVER_FAULTS = ['hides the locks', 'releases a lock before the rows are visible'] as const
export type ServerFault = (typeof SERVER_FAULTS)[number]

/** What the feed assumes of PostgreSQL, as docs/feed.md has it. At each turn, everything else may happen. */
export class PostgresModel {
  readonly turn: Turn
  readonly fault: ServerFault | undefined
  /** What is visible, by id. */
  rows: Animal[] = []
  lastId = 0n
  transactions = 0
  isAvailable = true
  /** How many of the next messages to and from it are lost. */
  failures = 0
  readonly open = new Set<Transaction>()
  /** All animals that have ever been visible, also those that a restore lost. */
  readonly everVisible = new Set<string>()
  #starts = 0

  constructor(turn: Turn, fault: ServerFault | undefined) {
    this.turn = turn
    this.fault = fault
  }

  show(rows: Animal[]): void {
    this.rows = [...this.rows, ...rows].sort((a, b) => (a.id < b.id ? -1 : 1))
    for (const { id, name } of rows) this.everVisible.add(`${id} ${name}`)
  }

  /** Ends all connections and transactions but prepared ones, which are recovered. The sequence skips some ids. */
  restart(): void {
    this.#starts++
    for (const transaction of this.open) {
      if (transaction.isPrepared) transaction.recover()
      else transaction.rollBack()
    }
    this.lastId += 3n
  }

  /** Goes back to an older state, without the transactions that are open. @param outage waits while reads fail */
  async restore(backup: Backup, outage: () => Promise<void>): Promise<void> {
    this.isAvailable = false
    this.#starts++
    for (const transaction of this.open) transaction.rollBack()
    Object.assign(this, backup)
    await outage()
    this.isAvailable = true
  }

  /** A pool of the service. */
  readonly pool: ConnectionSource = {
    withConnection: (work) => {
      const start = this.#starts
      const query = async ({ text, values = [] }: pg.QueryConfig) => {
        await this.#transmit('request', start)
        const rows = await this.#execute(text, values)
        await this.#transmit('response', start)
        return { rows }
      }
      return work({ query } as unknown as pg.PoolClient) // all that the service uses of it
    },
  }

  async #transmit(label: string, start: number): Promise<void> {
    const wasAvailable = this.isAvailable
    await this.turn(label)
    const isLost = this.failures > 0 && this.failures--
    if (!wasAvailable || !this.isAvailable || start !== this.#starts || isLost) throw new Error('Connection lost')
  }

  async #execute(text: string, values: unknown[]): Promise<object[]> {
    const [json, end] = values as [string, bigint] // of the first two statements, and of the third
    if (text.includes('INSERT')) return this.#insert(json)
    if (text.includes('json_agg')) return JSON.parse(json).map((page: Page) => this.#page(page, text.includes('ASC')))
    if (text.includes('LIMIT 500')) return this.#between(BigInt(json) + 1n, end).slice(0, 500)
    const newest = this.rows.at(-1)?.id ?? 0n
    const last = this.lastId
    await this.turn('after the snapshot')
    const holders = [...this.open].filter(({ holdsLock }) => holdsLock && this.fault !== 'hides the locks')
    const writers = holders.map(({ virtualId }) => virtualId)
    return [{ last, highest: last, cacheSize: 1n, newest, writers, history: String(this.#starts), isStandby: false }]
  }

  async #insert(json: string): Promise<object[]> {
    const transaction = new Transaction(this)
    const rows = JSON.parse(json) as { name: string; category_id: string; status?: NewRow['status'] }[]
    const ids = await transaction.insert(
      rows.map(({ name, category_id, status = null }) => ({ name, categoryId: BigInt(category_id), status })),
    )
    await transaction.commit()
    return ids.map((id) => ({ id }))
  }

  #between(oldest: bigint, newest: bigint): Animal[] {
    return this.rows.filter(({ id }) => id >= oldest && id <= newest)
  }

  #page({ page_n, oldest_id: oldest, newest_id: newest, max_size: size, ...filter }: Page, ascending: boolean): object {
    const found = this.#between(BigInt(oldest), BigInt(newest)).filter(matches(filter))
    const animals = (ascending ? found : found.reverse()).slice(0, size)
    const members = Object.keys(Animal.shape) as (keyof Animal)[] // the keys of the type's own schema
    const columns = members.map((member) => [member, animals.map((one) => toJson(one[member]))])
    return { page_n, ...Object.fromEntries(columns) }
  }
}

type Page = { page_n: number; oldest_id: string; newest_id: string; max_size: number }

const toJson = (value: unknown) => (typeof value === 'bigint' ? String(value) : value)

export function matches(filter: object): (animal: Animal) => boolean {
  const members = Object.entries(filter) as [keyof Animal, unknown][] // a filter has members of Animal
  return (animal) => members.every(([member, value]) => toJson(animal[member]) === toJson(value))
}

export class Transaction {
  readonly #database: PostgresModel
  readonly #rows: Animal[] = []
  /** From the first INSERT until its rows are visible or gone. */
  holdsLock = false
  isPrepared = false
  /** Virtual transaction id. PREPARE TRANSACTION keeps it. */
  virtualId: string
  readonly #id: number

  constructor(database: PostgresModel) {
    this.#database = database
    this.#id = ++database.transactions
    this.virtualId = `3/${this.#id}`
    database.open.add(this)
  }

  get isOpen(): boolean {
    return this.#database.open.has(this)
  }

  /** @returns the ids, fewer if the connection is lost meanwhile */
  async insert(rows: NewRow[]): Promise<bigint[]> {
    const ids: bigint[] = []
    this.holdsLock = true
    for (const row of rows) {
      if (rows.length < 10 || ids.length === 0) await this.#database.turn('insert')
      if (!this.isOpen) break
      const id = ++this.#database.lastId
      this.#rows.push({ id, ...row })
      ids.push(id)
    }
    return ids
  }

  async commit(): Promise<void> {
    await this.#database.turn('commit')
    if (!this.isOpen) return
    if (this.#database.fault === 'releases a lock before the rows are visible') {
      this.holdsLock = false
      for (let n = 0; n < 10; n++) await this.#database.turn('visibility')
    }
    this.#database.show(this.#rows)
    await this.#database.turn('release of the lock')
    this.rollBack()
  }

  rollBack(): void {
    this.#database.open.delete(this)
  }

  /** A prepared transaction after a restart of the server: its virtual transaction id is made of its transaction id. */
  recover(): void {
    this.virtualId = `-1/${this.#id}`
  }
}
