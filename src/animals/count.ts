import type { Statements } from '../database/statements.ts'
import type { PetStatus } from './animal.ts'

/**
 * Counts the animals of each status; NULL stands for all animals. PostgreSQL reads neither table in parallel, because both
 * depend on the row of the filter: parallel workers would take the CPU from other statements.
 */
const COUNT = `
  SELECT filter.status,
    (SELECT count(*) FROM "public"."animal" WHERE filter.status IS NULL) +
    (SELECT count(*) FROM "public"."animal" WHERE animal.status = filter.status) AS count
  FROM unnest($1::pet_status[]) AS filter (status)`

/** @returns the number of animals, all or with a status; one statement counts for all callers that wait */
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
