import type { Pool } from 'pg'
import type { PrismaClient } from '../database/generated/client.ts'
import { ApiError, toApiError } from '../errors.ts'
import { type Animal, type NewPet, parseInt64, type PetStatus } from './animal.ts'
import { createOnce, type IdempotencyRequest } from './idempotency.ts'
import { createBatcher } from '../coalesce.ts'
import { createQueries, createRunStatement, type ListQuery } from './queries.ts'

export interface Page {
  /** Newest first, in both directions. */
  animals: Animal[]
  /** Whether there are more in the direction of the query. */
  hasMore: boolean
}

export type Animals = ReturnType<typeof createAnimals>

/** The operations on animals, for both APIs. They validate ids and idempotency keys; callers validate other inputs. */
export function createAnimals(prisma: PrismaClient, pool: Pool) {
  const run = createRunStatement(pool)
  const queries = createQueries(run)

  /** listPets (§4.1): one page. The time that it takes does not depend on the position of the page. */
  async function list(query: ListQuery): Promise<Page> {
    const found = await queries.list(query)
    const animals = found.slice(0, query.limit)
    if (query.backward) animals.reverse()
    return { animals, hasMore: found.length > query.limit }
  }

  /** The number of animals, all or with a status. Takes time in proportion to the result. */
  async function count(status?: PetStatus): Promise<number> {
    return prisma.animal.count(status && { where: { status } })
  }

  /**
   * getPet (§4.3). Concurrent requests share one query, also for different animals.
   * @param petId as the client sent it
   * @throws ApiError NOT_FOUND when no animal has this id or it is not an int64
   */
  async function get(petId: string): Promise<Animal> {
    const id = parseInt64(petId)
    const animal = id === undefined ? undefined : await byId(id)
    if (!animal) throw new ApiError('NOT_FOUND')
    return animal
  }

  /** Reads an animal in one query with all others that are requested at the same time. */
  const byId = createBatcher(async (ids: Set<bigint>) => indexById(await queries.byIds(ids)))

  /**
   * createPet (§4.2). Resolves after the commit.
   * @param once repeats of the request return the animal that the first one created
   * @throws ApiError UNAVAILABLE when the animal was certainly not created, DEADLINE_EXCEEDED when the outcome is
   *   unknown, and with `once` the errors of createOnce
   */
  async function create(pet: NewPet, once?: IdempotencyRequest): Promise<{ animal: Animal; replayed: boolean }> {
    try {
      if (once) return await createOnce(run, once, pet)
      return { animal: await queries.create(pet), replayed: false }
    } catch (error) {
      throw toApiError(error, { mayHaveExecuted: true })
    }
  }

  return { list, count, get, create }
}

function indexById(animals: Animal[]): Map<bigint, Animal> {
  return new Map(animals.map((animal) => [animal.id, animal]))
}
