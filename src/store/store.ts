import type { ReadRows, Statements } from '../database/statements.ts'
import { ApiError, invalidArgumentError, toApiError } from '../errors.ts'
import { parseInt64 } from './types.ts'
import { createIdempotentInsertQuery, type IdempotencyRequest } from './idempotency.ts'
import { createCountQuery, createListQuery, type PageRequest } from './lists.ts'
import { createInsertQuery, createLookupQuery } from './lookup-and-insert.ts'
import type { Input, Item, Resource } from './resource.ts'

export type Store<R extends Resource> = ReturnType<typeof createStore<R>>

/**
 * The operations on a resource, for both APIs. They validate ids and idempotency keys; callers validate other inputs.
 * Concurrent requests share statements.
 * @param readCount executes one count at a time, on a connection that nothing else uses
 * @param onCreate called after each `create`, even a failed one, because it may have been executed
 */
export function createStore<R extends Resource>(
  resource: R,
  statements: Statements,
  readCount: ReadRows,
  onCreate = () => {},
) {
  const readList = createListQuery(resource, statements)
  const byId = createLookupQuery(resource, statements)
  const insert = createInsertQuery(resource, statements)
  const insertOnce = createIdempotentInsertQuery(resource, statements)

  /** Reads one page, newest first in both directions. `hasMore` says whether items follow in the query's direction. */
  async function list(query: PageRequest<R>): Promise<{ items: Item<R>[]; hasMore: boolean }> {
    const found = await readList({ ...query, limit: query.limit + 1 })
    const items = found.slice(0, query.limit)
    if (query.backward) items.reverse()
    return { items, hasMore: found.length > query.limit }
  }

  /** @throws ApiError NOT_FOUND when nothing has this id, or it is not an int64 */
  async function get(text: string): Promise<Item<R>> {
    const id = parseInt64(text)
    const item = id === undefined ? undefined : await byId(id)
    if (!item) throw new ApiError('NOT_FOUND', `No ${resource.noun} has this id.`)
    return item
  }

  /**
   * Resolves after the commit. With `idempotency`, repeats return the item that the first request created.
   * @param argument where the input is, as for invalidArgumentError
   * @throws ApiError INVALID_ARGUMENT when the input refers to a row that does not exist, UNAVAILABLE when the item was
   *   certainly not created, DEADLINE_EXCEEDED when the outcome is unknown, and with `idempotency` the errors of
   *   createIdempotentInsertQuery
   */
  async function create(input: Input<R>, idempotency?: IdempotencyRequest, argument: string[] = []) {
    try {
      const created = await (idempotency ? insertOnce(idempotency, input) : insert(input))
      if (Array.isArray(created)) throw invalidArgumentError(created, argument)
      return created
    } catch (error) {
      throw toApiError(error, { mayHaveExecuted: true })
    } finally {
      onCreate()
    }
  }

  return { list, count: createCountQuery(resource, readCount), get, create }
}
