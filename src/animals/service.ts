import type { Statements } from '../database/statements.ts'
import { ApiError, toApiError } from '../errors.ts'
import { type Animal, type NewPet, parseInt64 } from './animal.ts'
import { type Created, createIdempotentInsert, type IdempotencyRequest } from './idempotency.ts'
import { createCount, createList, type ListQuery } from './lists.ts'
import { createInsert, createLookup } from './queries.ts'

export type Animals = ReturnType<typeof createAnimals>

/**
 * The operations on animals, for both APIs. They validate ids and idempotency keys; callers validate other inputs.
 * Concurrent requests share statements.
 * @param counts executes one at a time, on a connection of its own
 */
export function createAnimals(statements: Statements, counts: Statements) {
  const readList = createList(statements)
  const byId = createLookup(statements)
  const createOne = createInserter(statements)
  const createMany = createInserter(statements, 1)

  /** listPets (§4.1): one page, newest first in both directions. `hasMore` is in the direction of the query. */
  async function list(query: ListQuery): Promise<{ animals: Animal[]; hasMore: boolean }> {
    const found = await readList(query)
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

  /** createPet (§4.2), as createMany. */
  async function create(pet: NewPet, once?: IdempotencyRequest): Promise<{ animal: Animal; replayed: boolean }> {
    const { animals, replayed } = await createOne(pet, once)
    return { animal: animals[0] as Animal, replayed } // there is one for each NewPet
  }

  return { list, count: createCount(counts), get, create, createMany }
}

/** @param maxSize how many requests share a statement: one that has many animals delays no others */
function createInserter(statements: Statements, maxSize?: number) {
  const insert = createInsert(statements, maxSize)
  const insertOnce = createIdempotentInsert(statements, maxSize)
  /**
   * Creates all animals or none, with ids in their order. Resolves after the commit. With `once`, repeats return the animals
   * that the first request created.
   * @throws ApiError UNAVAILABLE when they were certainly not created, DEADLINE_EXCEEDED when the outcome is unknown, and
   *   with `once` the errors of createIdempotentInsert
   */
  return async (body: NewPet | NewPet[], once?: IdempotencyRequest): Promise<Created> => {
    try {
      if (once) return await insertOnce(once, body)
      return { animals: await insert([body].flat()), replayed: false }
    } catch (error) {
      throw toApiError(error, { mayHaveExecuted: true })
    }
  }
}
