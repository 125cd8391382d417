import DataLoader from 'dataloader'
import type { PrismaClient } from '../database/generated/client.ts'
import { ApiError, toApiError } from '../errors.ts'
import { Animal, type NewPet, parseInt64, type PetStatus } from './animal.ts'
import { createOnce, type Once } from './idempotency.ts'

/** Which animals: those between two ids (both exclusive) with a status, counted from the newest or from the oldest. */
export interface ListQuery {
  status?: PetStatus | undefined
  limit: number
  olderThan?: bigint | undefined
  newerThan?: bigint | undefined
  /** Take the last of them rather than the first. */
  backward?: boolean
}

type Column = keyof Animal
/** An animal with some of its members; its id is always there. */
type Read<C extends Column> = Pick<Animal, C | 'id'>

interface Wanted {
  id: bigint
  columns: readonly Column[] | undefined
}

export interface Page<C extends Column = Column> {
  /** Newest first, whichever end they were taken from. */
  animals: Read<C>[]
  /** Whether there are more in the direction in which they were taken. */
  more: boolean
}

export type Animals = ReturnType<typeof createAnimals>

/** The three operations on animals, for both faces. Inputs are valid already; errors are ApiErrors or the database's. */
export function createAnimals(prisma: PrismaClient) {
  /**
   * listPets (§4.1): one page, newest first. Its cost does not depend on where in the list the page is.
   * @param columns what is read of each animal, besides its id; all of it when nothing is said
   */
  async function list<C extends Column = Column>(
    { status, limit, olderThan, newerThan, backward = false }: ListQuery,
    columns?: readonly C[],
  ): Promise<Page<C>> {
    const found = await prisma.animal.findMany({
      select: selectOf(columns),
      where: { ...(status && { status }), ...between(olderThan, newerThan) },
      orderBy: { id: backward ? 'asc' : 'desc' },
      take: limit + 1,
    })
    const animals = found.slice(0, limit)
    if (backward) animals.reverse()
    return { animals, more: found.length > limit }
  }

  /** How many animals there are, with a status if one is given. Costs time in proportion to the answer. */
  async function count(status?: PetStatus): Promise<number> {
    return prisma.animal.count(status && { where: { status } })
  }

  /**
   * getPet (§4.3). Whoever asks for an animal in the same turn of the event loop shares one query.
   * @param petId as the client wrote it
   * @throws ApiError NOT_FOUND when it names no animal, or is no int64
   */
  async function get<C extends Column = Column>(petId: string, columns?: readonly C[]): Promise<Read<C>> {
    const id = parseInt64(petId)
    const animal = id !== undefined && (await byId.load({ id, columns }))
    if (!animal) throw new ApiError('NOT_FOUND', 'No animal has this id.')
    return animal
  }

  const byId = new DataLoader<Wanted, Animal | undefined>(
    async (wanted) => {
      const columns = wanted.every((one) => one.columns) ? wanted.flatMap((one) => one.columns ?? []) : undefined
      const found = await prisma.animal.findMany({
        select: selectOf(columns),
        where: { id: { in: [...new Set(wanted.map((one) => one.id))] } },
      })
      const animals = new Map(found.map((animal) => [animal.id, animal]))
      return wanted.map(({ id }) => animals.get(id))
    },
    { cache: false, maxBatchSize: 100, batchScheduleFn: (run) => void setImmediate(run) },
  )

  /**
   * createPet (§4.2). One statement; it resolves only after the commit.
   * @param once makes a repetition return the first one's animal
   * @throws ApiError UNAVAILABLE when the animal certainly was not created, DEADLINE_EXCEEDED when that is unknown;
   *   with `once` also those of createOnce
   */
  async function create(pet: NewPet, once?: Once): Promise<{ animal: Animal; replayed: boolean }> {
    try {
      if (once) return await createOnce(prisma, once, pet)
      const animal = await prisma.animal.create({ select: selectOf(), data: { ...pet, status: pet.status ?? null } })
      return { animal, replayed: false }
    } catch (error) {
      throw toApiError(error, 'write')
    }
  }

  return { list, count, get, create }
}

function between(olderThan: bigint | undefined, newerThan: bigint | undefined) {
  if (olderThan === undefined && newerThan === undefined) return {}
  return {
    id: { ...(olderThan !== undefined && { lt: olderThan }), ...(newerThan !== undefined && { gt: newerThan }) },
  }
}

/**
 * The columns to read, the id always among them; all when none are named. The type says more than is read when some
 * are: `list` and `get` say how much is.
 */
function selectOf(columns: readonly Column[] = Object.keys(Animal.shape) as Column[]): Record<Column, true> {
  return Object.fromEntries(['id', ...columns].map((name) => [name, true])) as Record<Column, true>
}
