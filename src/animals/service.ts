import type { RunStatement, Statements } from '../database/statements.ts'
import { ApiError, toApiError } from '../errors.ts'
import { type Animal, type NewPet, parseInt64 } from './animal.ts'
import { type Created, createIdempotentInsert, type IdempotencyRequest } from './idempotency.ts'
import { createCount, createList, type ListQuery } from './lists.ts'
import { createInsert, createLookup } from './queries.ts'

export type Animals = ReturnType<typeof createAnimals>

/**
 * The operations on animals, for both APIs. They validate ids and idempotency keys; callers validate other inputs.
 * Concurrent requests share statements.
 * @param runCount executes one at a time, on a connection of its own
 * @param onCreate called after each `create`, even if it failed: it may have been executed
 */
export function createAnimals(statements: Statements, runCount: RunStatement, onCreate = () => {}) {
  const readList = createList(statements)
  const readListOnPrimary = createList(statements, false)
  const byId = createLookup(statements)
  const insert = createInsert(statements)
  const insertOnce = createIdempotentInsert(statements)

  /** listPets (§4.1): one page, newest first in both directions. `hasMore` is in the direction of the query. */
  async function list(query: ListQuery): Promise<{ animals: Animal[]; hasMore: boolean }> {
    const found = await (query.onPrimary ? readListOnPrimary : readList)(query)
    const animals = found.slice(0, query.limit)
    if (query.backward) animals.reverse()
    return { animals, hasMore: found.length > query.limit }
  }

  /** getPet (§4.3). @throws ApiError NOT_FOUND when no animal has this id, or it is not an int64 */
  async function get(petId: string): Promise<Animal> {
    const id = parseInt64(petId)
    const animal = id === undefined ? undefined : await byId(id)
    if (!animal) throw new ApiError('NOT_FOUND')
    return animal
  }

  /**
   * createPet (§4.2). Resolves after the commit. With `once`, repeats return the animal that the first request created.
   * @throws ApiError UNAVAILABLE when the animal was certainly not created, DEADLINE_EXCEEDED when the outcome is
   *   unknown, and with `once` the errors of createIdempotentInsert
   */
  async function create(pet: NewPet, once?: IdempotencyRequest): Promise<Created> {
    try {
      if (once) return await insertOnce(once, pet)
      return { animal: await insert(pet), replayed: false }
    } catch (error) {
      throw toApiError(error, { mayHaveExecuted: true })
    } finally {
      onCreate()
    }
  }

  return { list, count: createCount(runCount), get, create }
}
