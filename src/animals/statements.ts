import { createHash } from 'node:crypto'
import type { Pool } from 'pg'
import { type Animal, DEFAULT_PAGE_SIZE, type NewPet } from './animal.ts'

/** Which rows: those between two ids (both exclusive) with a status, from the newest or the oldest on. */
export interface Range {
  status?: Animal['status'] | undefined
  olderThan?: bigint | undefined
  newerThan?: bigint | undefined
  backward: boolean
  take: number
}

/** Column names as schema.prisma maps them. */
const COLUMNS = { id: 'id', name: 'name', categoryId: 'category_id', status: 'status' } satisfies Record<
  keyof Animal,
  string
>
const SELECT = `SELECT ${Object.entries(COLUMNS)
  .map(([field, column]) => `animal.${column} AS "${field}"`)
  .join(', ')} FROM "public"."animal"`

const INT8_OID = 20
/** Values as Prisma gives them: an int8 exact, all else here is text. */
const types = {
  getTypeParser: (oid: number): ((text: string) => unknown) => (oid === INT8_OID ? BigInt : (text) => text),
}

/**
 * What a page of the usual size takes stands in the text of its statement: PostgreSQL keeps a plan only where it knows
 * how few rows that is, and else plans each time anew, which takes as long as the rest of its work on a page.
 */
const USUAL_TAKE = DEFAULT_PAGE_SIZE + 1

/** The names of prepared statements, by their texts. */
const names = new Map<string, string>()

/**
 * The statements of every request, written out and prepared once for each connection: on the way through Prisma the
 * same took two to five times the processor time. Each shape of a query is a text of its own, so that the plan that
 * PostgreSQL keeps for it is right wherever in the table it looks. There are few shapes: no other value is ever in the text.
 */
export function createStatements(pool: Pool) {
  async function run<Row>(text: string, values: unknown[]): Promise<Row[]> {
    const name = names.get(text) ?? nameOf(text)
    // Typed by what the text selects, which a test holds against Prisma.
    const { rows } = await pool.query({ name, text, values, types } as { text: string; values: unknown[] })
    return rows as Row[]
  }

  return {
    /** One stretch of the list, in the order in which it is taken. */
    list(range: Range): Promise<Animal[]> {
      const { status, olderThan, newerThan, backward, take } = range
      const values: unknown[] = []
      const conditions = [
        ...(status ? [`status = $${values.push(status)}::pet_status`] : []),
        ...(olderThan === undefined ? [] : [`id < $${values.push(olderThan)}`]),
        ...(newerThan === undefined ? [] : [`id > $${values.push(newerThan)}`]),
      ]
      const limit = take === USUAL_TAKE ? take : `$${values.push(take)}`
      const where = conditions.length ? `WHERE ${conditions.join(' AND ')} ` : ''
      return run(`${SELECT} ${where}ORDER BY id ${backward ? 'ASC' : 'DESC'} LIMIT ${limit}`, values)
    },

    /** The animals that have one of the ids, in no order. */
    byIds(ids: Iterable<bigint>): Promise<Animal[]> {
      return run(`${SELECT} WHERE id = ANY($1::bigint[])`, [`{${[...ids].join()}}`])
    },

    /** Resolves after the commit. */
    async create({ name, categoryId, status: given }: NewPet): Promise<Animal> {
      const status = given ?? null
      const text =
        'INSERT INTO "public"."animal" (name, category_id, status) VALUES ($1, $2, $3::pet_status) RETURNING animal.id'
      const [row] = await run<{ id: bigint }>(text, [name, categoryId, status])
      if (!row) throw new Error('INSERT gave no row back')
      return { id: row.id, name, categoryId, status }
    },
  }
}

/** A statement's name says its text: whoever shares a connection, through a pooler say, never runs another's. */
function nameOf(text: string): string {
  const name = `animal_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`
  names.set(text, name)
  return name
}
