import pg from 'pg'
import { databaseUrl, poolSize } from './peer.ts'
import type { Animal, NewAnimal, Store } from './store.ts'

interface Waiter<Input, Output> {
  input: Input
  resolve(output: Output): void
  reject(error: unknown): void
}

/** One statement for all who wait while the one before is under way: the least code that batches. */
function batched<Input, Output>(execute: (inputs: Input[]) => Promise<Output[]>): (input: Input) => Promise<Output> {
  let waiting: Waiter<Input, Output>[] = []
  let running = false

  async function run(): Promise<void> {
    running = true
    while (waiting.length) {
      const batch = waiting
      waiting = []
      try {
        const outputs = await execute(batch.map(({ input }) => input))
        batch.forEach(({ resolve }, n) => resolve(outputs[n] as Output)) // one for each
      } catch (error) {
        batch.forEach(({ reject }) => reject(error))
      }
    }
    running = false
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      if (!running) setImmediate(() => running || void run())
    })
}

const newest = '9223372036854775807'
const page = `SELECT n, animal.* FROM unnest($1::bigint[], $2::int[]) WITH ORDINALITY AS page (below, size, n)
  CROSS JOIN LATERAL (SELECT id, name, category_id AS "categoryId", status FROM animal
    WHERE id < page.below ORDER BY id DESC LIMIT page.size) AS animal`
const insert = `INSERT INTO animal (name, category_id, status)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::pet_status[]) RETURNING id`

/** SQL by hand in named prepared statements, one for all who wait. */
export function createBatchedPgStore(): Store<number> {
  pg.types.setTypeParser(pg.types.builtins.INT8, Number)
  const pool = new pg.Pool({ connectionString: databaseUrl, max: poolSize })
  const query = async <Row extends object>(name: string, text: string, values: unknown[]) =>
    (await pool.query<Row>({ name, text, values })).rows

  const list = batched(async (pages: { below: string; size: number }[]) => {
    const values = [pages.map(({ below }) => below), pages.map(({ size }) => size)]
    const animals: Animal<number>[][] = pages.map(() => [])
    for (const { n, ...animal } of await query<Animal<number> & { n: number }>('page', page, values))
      animals[n - 1]?.push(animal)
    return animals
  })
  const get = batched(async (ids: string[]) => {
    const text = 'SELECT id, name, category_id AS "categoryId", status FROM animal WHERE id = ANY($1::bigint[])'
    const found = new Map(
      (await query<Animal<number>>('get', text, [ids])).map((animal) => [String(animal.id), animal]),
    )
    return ids.map((id) => found.get(id))
  })
  const create = batched(async (animals: NewAnimal[]) => {
    const columns = [animals.map((a) => a.name), animals.map((a) => a.categoryId), animals.map((a) => a.status)]
    const rows = await query<{ id: number }>('create', insert, columns)
    return animals.map((animal, n) => ({ id: rows[n]?.id, status: null, ...animal }) as Animal<number>) // a row for each
  })

  return {
    async list(limit, olderThan) {
      const animals = await list({ below: olderThan ?? newest, size: limit + 1 })
      return { animals: animals.slice(0, limit), more: animals.length > limit }
    },
    get,
    create,
  }
}
