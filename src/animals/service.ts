import type { Statements } from '../database/statements.ts'
import { ApiError, toApiError } from '../errors.ts'
import { type Animal, type NewPet, parseInt64 } from './animal.ts'
import { type Created, createOnce, type IdempotencyRequest } from './idempotency.ts'
import { createCount } from './count.ts'
import { createQueries, type ListQuery } from './queries.ts'

export interface Page {
  /** Newest first, in both directions. */
  animals: Animal[]
  /** Whether there are more in the direction of the query. */
  hasMore: boolean
}

export type Animals = ReturnType<typeof createAnimals>

/**
 * The operations on animals, for both APIs. They validate ids and idempotency keys; callers validate other inputs.
 * Concurrent requests share statements.
 * @param counts executes one at a time, on a connection of its own
 */
export function createAnimals(statements: Statements, counts: Statements) {
  const queries = createQueries(statements)
  const createKeyed = createOnce(statements)

  /** listPets (§4.1): one page. The time that it takes does not depend on the position of the page. */
  async function list(query: ListQuery): Promise<Page> {
    const found = await queries.list(query)
    const animals = found.slice(0, query.limit)
    if (query.backward) animals.reverse()
    return { animals, hasMore: found.length > query.limit }
  }

  /** Takes time in proportion to the result. */
  const count = createCount(counts)

  /**
   * getPet (§4.3).
   * @param petId as the client sent it
   * @throws ApiError NOT_FOUND when no animal has this id or it is not an int64
   */
  async function get(petId: string): Promise<Animal> {
    const id = parseInt64(petId)
    const animal = id === undefined ? undefined : await queries.byId(id)
    if (!animal) throw new ApiError('NOT_FOUND')
    return animal
  }

  /**
   * createPet (§4.2). Resolves after the commit.
   * @param once repeats of the request return the animal that the first one created
   * @throws ApiError UNAVAILABLE when the animal was certainly not created, DEADLINE_EXCEEDED when the outcome is
   *   unknown, and with `once` the errors of createOnce
   */
  async function create(pet: NewPet, once?: IdempotencyRequest): Promise<Created> {
    try {
      if (once) return await createKeyed(once, pet)
      return { animal: await queries.create(pet), replayed: false }
    } catch (error) {
      throw toApiError(error, { mayHaveExecuted: true })
    }
  }

  return { list, count, get, create }
}
