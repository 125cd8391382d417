import type { Statements } from '../database/statements.ts'
import { Animal, NewPet } from './animal.ts'

/** The members of NewPet with their columns: schema.prisma maps camelCase to snake_case. */
const INSERTED_COLUMNS = Object.keys(NewPet.shape).map((field) => ({
  field: field as keyof NewPet, // a key of the type's own schema
  column: columnOf(field),
}))

export const SELECT_LIST = Object.keys(Animal.shape)
  .map((field) => `animal.${columnOf(field)} AS "${field}"`)
  .join(', ')

/** The members of Animal that are int64. In JSON they are text, because JSON.parse rounds numbers. */
const INT64_MEMBERS = new Set(
  Object.entries(Animal.shape).flatMap(([field, schema]) => (schema.safeParse(0n).success ? [field] : [])),
)

/** Selects animals as one row with an array for every column: to read a row for every animal would take twice the time. */
export const SELECT_ARRAYS = Object.keys(Animal.shape)
  .map((field) => `json_agg(animal.${columnOf(field)}${INT64_MEMBERS.has(field) ? '::text' : ''}) AS "${field}"`)
  .join(', ')

/** Draws the ids in the order of arrival: INSERT evaluates default values after ORDER BY. */
const INSERT_ALL = `
  INSERT INTO "public"."animal" (${insertedColumns()})
  SELECT ${insertedColumns('pet.')}
  FROM json_populate_recordset(NULL::"public"."animal", $1::json) WITH ORDINALITY AS pet
  ORDER BY pet.ordinality
  RETURNING id`

/** A row of SELECT_ARRAYS: the values of each member, or null if there are no animals. */
export type AnimalArrays = Record<keyof Animal, unknown[] | null>

export function createLookup({ batch }: Statements) {
  return batch({
    // The parameter in a SELECT: PostgreSQL would otherwise plan the statement again for each small number of ids.
    text: `SELECT ${SELECT_LIST} FROM "public"."animal" WHERE id = ANY((SELECT $1::bigint[])::bigint[])`,
    onReplicas: true,
    toValues: (ids: bigint[]) => [`{${ids.join()}}`],
    toOutputs(animals: Animal[], ids) {
      const found = new Map(animals.map((animal) => [animal.id, animal]))
      return ids.map((id) => found.get(id))
    },
  })
}

export function createInsert({ batch }: Statements) {
  return batch({
    text: INSERT_ALL,
    toValues: (pets: NewPet[]) => [JSON.stringify(pets.map(toRow))],
    toOutputs(rows: { id: bigint }[], pets) {
      // A trigger that skips a row would give its id to another animal.
      if (rows.length !== pets.length) throw new Error(`INSERT returned ${rows.length} of ${pets.length} ids`)
      // The ids were drawn in the order of arrival; nothing promises that RETURNING keeps this order.
      const ids = rows.map(({ id }) => id).sort((a, b) => (a < b ? -1 : 1))
      return pets.map((pet, n) => toAnimal(ids[n], pet))
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

export function toAnimals(row: AnimalArrays): Animal[] {
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
