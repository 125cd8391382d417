import { z } from 'zod'
import { PAGE_SIZE, PageSize, PetStatus } from '../../animals/animal.ts'
import { parseCursor } from '../../animals/cursor.ts'
import type { ListQuery } from '../../animals/queries.ts'
import { ApiError } from '../../errors.ts'

const ListArgs = z.object({
  first: PageSize.nullish(),
  last: PageSize.nullish(),
  status: PetStatus.nullish().transform((status) => status ?? undefined),
  after: z.string().nullish(),
  before: z.string().nullish(),
})

/** Null counts as absent. */
export function pageSizeOf({ first, last }: Pick<z.input<typeof ListArgs>, 'first' | 'last'>): number {
  return first ?? last ?? PAGE_SIZE.default
}

/** The arguments of `pets` as a query. @throws ZodError, ApiError INVALID_ARGUMENT for invalid arguments */
export function toListQuery(args: unknown): ListQuery {
  const { first, last, status, after, before } = ListArgs.parse(args)
  if (first && last) {
    const fields = [{ path: ['last'], message: 'must not be sent together with first' }]
    throw new ApiError('INVALID_ARGUMENT', 'Provide either first or last, not both.', { fields })
  }
  return {
    status,
    limit: pageSizeOf({ first, last }),
    olderThan: after == null ? undefined : parseCursor(after, status, 'after'),
    newerThan: before == null ? undefined : parseCursor(before, status, 'before'),
    backward: Boolean(last),
  }
}
