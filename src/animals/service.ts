import type { Pool } from 'pg'
import type { PrismaClient } from '../database/generated/client.ts'
import { ApiError, toApiError } from '../errors.ts'
import { type Animal, type NewPet, parseInt64, type PetStatus } from './animal.ts'
import { createOnce, type IdempotencyRequest } from './idempotency.ts'
import { createBatcher } from '../coalesce.ts'
import { createRunStatement, createQueries } from './queries.ts'

/** Which animals: those between two ids (both exclusive) with a status, counted from the newest or from the oldest. */
export interface ListQuery {
  status?: PetStatus | undefined
  limit: number
  olderThan?: bigint | undefined
  newerThan?: bigint | undefined
  /** Take the last of them rather than the first. */
  backward?: boolean
}

export interface Page {
  /** Newest first, whichever end they were taken from. */
  animals: Animal[]
  /** Whether there are more in the direction in which they were taken. */
  hasMore: boolean
}

export type Animals = ReturnType<typeof createAnimals>

/** The three operations on animals, for both faces. Inputs are valid already; errors are ApiErrors or the database's. */
export function createAnimals(prisma: PrismaClient, pool: Pool) {
  const run = createRunStatement(pool)
  const statements = createQueries(run)

  /** listPets (§4.1): one page, newest first. Its cost does not depend on where in the list the page is. */
  async function list({ status, limit, olderThan, newerThan, backward = false }: ListQuery): Promise<Page> {
    const found = await statements.list({ status, olderThan, newerThan, backward, take: limit + 1 })
    const animals = found.slice(0, limit)
    if (backward) animals.reverse()
    return { animals, hasMore: found.length > limit }
  }

  /** How many animals there are, with a status if one is given. Costs time in proportion to the answer. */
  async function count(status?: PetStatus): Promise<number> {
    return prisma.animal.count(status && { where: { status } })
  }

  /**
   * getPet (§4.3). Those who ask at the same time share one query, whichever animals they ask for.
   * @param petId as the client wrote it
   * @throws ApiError NOT_FOUND when it names no animal, or is no int64
   */
  async function get(petId: string): Promise<Animal> {
    const id = parseInt64(petId)
    const animal = id === undefined ? undefined : await byId(id)
    if (!animal) throw new ApiError('NOT_FOUND', 'No animal has this id.')
    return animal
  }

  /** Reads an animal in one query with all others that are requested at the same time. */
  const byId = createBatcher(async (ids: Set<bigint>) => indexById(await statements.byIds(ids)))

  /**
   * createPet (§4.2). One statement; it resolves only after the commit.
   * @param once makes a repetition return the first one's animal
   * @throws ApiError UNAVAILABLE when the animal certainly was not created, DEADLINE_EXCEEDED when that is unknown;
   *   with `once` also those of createOnce
   */
  async function create(pet: NewPet, once?: IdempotencyRequest): Promise<{ animal: Animal; replayed: boolean }> {
    try {
      if (once) return await createOnce(run, once, pet)
      return { animal: await statements.create(pet), replayed: false }
    } catch (error) {
      throw toApiError(error, { mayHaveExecuted: true })
    }
  }

  return { list, count, get, create }
}

function indexById(animals: Animal[]): Map<bigint, Animal> {
  return new Map(animals.map((animal) => [animal.id, animal]))
}
