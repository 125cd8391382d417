import type { Statements } from '../database/statements.ts'
import { Animal, INT64_MAX, INT64_MIN, NewPet, PAGE_SIZE, type PetStatus } from './animal.ts'

/** Selects the animals with a status between two ids (both exclusive), starting at the newest or at the oldest. */
export interface ListQuery {
  status?: PetStatus | undefined
  limit: number
  olderThan?: bigint | undefined
  newerThan?: bigint | undefined
  backward?: boolean
}

/** The members of NewPet with their columns: schema.prisma maps camelCase to snake_case. */
const INSERTED_COLUMNS = Object.keys(NewPet.shape).map((field) => ({
  field: field as keyof NewPet, // a key of the type's own schema
  column: columnOf(field),
}))

/** The members of Animal that are int64. In JSON they are text, because JSON.parse rounds numbers. */
const INT64_MEMBERS = new Set(
  Object.entries(Animal.shape).flatMap(([field, schema]) => (schema.safeParse(0n).success ? [field] : [])),
)

export const SELECT_LIST = Object.keys(Animal.shape)
  .map((field) => `animal.${columnOf(field)} AS "${field}"`)
  .join(', ')

/**
 * Counts the animals of each status; NULL stands for all animals. PostgreSQL reads neither table in parallel, because both
 * depend on the row of the filter: parallel workers would take the CPU from other statements.
 */
const COUNT = `
  SELECT filter.status,
    (SELECT count(*) FROM "public"."animal" WHERE filter.status IS NULL) +
    (SELECT count(*) FROM "public"."animal" WHERE animal.status = filter.status) AS count
  FROM unnest($1::pet_status[]) AS filter (status)`

/** Draws the ids in the order of arrival: INSERT evaluates default values after ORDER BY. */
const INSERT_ALL = `
  INSERT INTO "public"."animal" (${insertedColumns()})
  SELECT ${insertedColumns('pet.')}
  FROM json_populate_recordset(NULL::"public"."animal", $1::json) WITH ORDINALITY AS pet
  ORDER BY pet.ordinality
  RETURNING id`

/**
 * Selects several pages. Each is one row with an array for every column: to read a row for every animal would take twice
 * the time.
 */
function selectPages(byStatus: boolean, backward: boolean): string {
  // Only the index on (status, id) has the order of a row comparison. With `status = …` a generic plan may walk along the
  // primary key instead, until it has found enough animals of a rare status.
  // The constant LIMIT keeps the estimated cost below jit_above_cost, above which PostgreSQL compiles every execution for a
  // tenth of a second: of the other LIMIT it only assumes a tenth of what matches.
  const key = byStatus ? '(status, id)' : 'id'
  const bound = (name: string) => (byStatus ? `(page.status, page.${name})` : `page.${name}`)
  const direction = backward ? 'ASC' : 'DESC'
  const order = `ORDER BY ${byStatus ? `status ${direction}, ` : ''}id ${direction}`
  const columns = Object.keys(Animal.shape).map((field) => {
    const value = `animal.${columnOf(field)}${INT64_MEMBERS.has(field) ? '::text' : ''}`
    return `json_agg(${value}) AS "${field}"`
  })
  return `
    SELECT page.n, animals.*
    FROM json_to_recordset($1::json) AS page (n int, status pet_status, oldest bigint, newest bigint, size int)
    CROSS JOIN LATERAL (
      SELECT ${columns.join(', ')}
      FROM (
        SELECT * FROM (
          SELECT * FROM "public"."animal"
          WHERE ${key} >= ${bound('oldest')} AND ${key} <= ${bound('newest')}
          ${order} LIMIT ${PAGE_SIZE.max + 1}
        ) AS animal
        ${order} LIMIT page.size
      ) AS animal
    ) AS animals`
}

/** An element of the parameter of selectPages. In JSON, int64 is text. */
type PageQuery = { status: PetStatus | undefined; oldest: string; newest: string; size: number }

/** A row of selectPages: the values of each member, or null on an empty page. */
type PageRow = { n: number } & Record<keyof Animal, unknown[] | null>

export function createQueries({ batch }: Statements) {
  const batchPages = (byStatus: boolean, backward: boolean) =>
    batch({
      text: selectPages(byStatus, backward),
      onReplicas: true,
      toValues: (pages: PageQuery[]) => [JSON.stringify(pages.map((page, n) => ({ n, ...page })))],
      toOutputs(rows: PageRow[], pages) {
        const found = new Map(rows.map((row) => [row.n, toAnimals(row)]))
        return pages.map((_page, n) => found.get(n) ?? [])
      },
    })
  const all = { forward: batchPages(false, false), backward: batchPages(false, true) }
  const byStatus = { forward: batchPages(true, false), backward: batchPages(true, true) }

  return {
    /** The animals of a page and one more if there is one: newest first, or oldest first when `backward`. */
    async list({ status, limit, olderThan, newerThan, backward }: ListQuery): Promise<Animal[]> {
      const newest = olderThan === undefined ? INT64_MAX : olderThan - 1n
      const oldest = newerThan === undefined ? INT64_MIN : newerThan + 1n
      if (oldest > newest) return [] // so both are int64 below
      const { [backward ? 'backward' : 'forward']: page } = status ? byStatus : all
      return page({ status, oldest: String(oldest), newest: String(newest), size: limit + 1 })
    },

    // The parameter in a SELECT: PostgreSQL would otherwise plan the statement again for each small number of ids.
    byId: batch({
      text: `SELECT ${SELECT_LIST} FROM "public"."animal" WHERE id = ANY((SELECT $1::bigint[])::bigint[])`,
      onReplicas: true,
      toValues: (ids: bigint[]) => [`{${ids.join()}}`],
      toOutputs(animals: Animal[], ids) {
        const found = new Map(animals.map((animal) => [animal.id, animal]))
        return ids.map((id) => found.get(id))
      },
    }),

    create: batch({
      text: INSERT_ALL,
      toValues: (pets: NewPet[]) => [JSON.stringify(pets.map(toRow))],
      toOutputs(rows: { id: bigint }[], pets) {
        // A trigger that skips a row would give its id to another animal.
        if (rows.length !== pets.length) throw new Error(`INSERT returned ${rows.length} of ${pets.length} ids`)
        // The ids were drawn in the order of arrival; nothing promises that RETURNING keeps this order.
        const ids = rows.map(({ id }) => id).sort((a, b) => (a < b ? -1 : 1))
        return pets.map((pet, n) => toAnimal(ids[n], pet))
      },
    }),
  }
}

export function createCount({ batch }: Statements): (status: PetStatus | undefined) => Promise<number> {
  return batch({
    text: COUNT,
    maxSize: Number.MAX_SAFE_INTEGER,
    toValues: (statuses) => [[...new Set(statuses.map((status) => status ?? null))]],
    toOutputs(rows: { status: PetStatus | null; count: bigint }[], statuses) {
      const counts = new Map(rows.map(({ status, count }) => [status, Number(count)]))
      return statuses.map((status) => counts.get(status ?? null) ?? 0)
    },
  })
}

export function insertedColumns(prefix: '' | 'pet.' = ''): string {
  return INSERTED_COLUMNS.map(({ column }) => prefix + column).join(', ')
}

/** The columns of an animal for json_populate_recordset, which reads numbers exactly from text. */
export function toRow(pet: NewPet): Record<string, unknown> {
  const row: Record<string, unknown> = {}
  for (const { field, column } of INSERTED_COLUMNS) {
    const value = pet[field]
    row[column] = typeof value === 'bigint' ? String(value) : value
  }
  return row
}

/** The animal with an id and the members of NewPet, from a NewPet or a stored animal. */
export function toAnimal(id: bigint | undefined, pet: { [Field in keyof NewPet]: unknown }): Animal {
  if (id === undefined) throw new Error('INSERT returned no id')
  const animal: Record<string, unknown> = { id }
  for (const { field } of INSERTED_COLUMNS) animal[field] = pet[field] ?? null
  return animal as Animal // has every member
}

function toAnimals(row: PageRow): Animal[] {
  const members = Object.keys(Animal.shape) as (keyof Animal)[] // the keys of the type's own schema
  const animals: Record<string, unknown>[] = (row.id ?? []).map(() => ({}))
  for (const member of members) {
    const isInt64 = INT64_MEMBERS.has(member)
    row[member]?.forEach((value, n) => {
      const animal = animals[n]
      if (animal) animal[member] = isInt64 && value !== null ? BigInt(String(value)) : value
    })
  }
  return animals as Animal[] // with every member
}

export function columnOf(field: string): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
