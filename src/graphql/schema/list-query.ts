import { z } from 'zod'
import { NewPet, PetStatus, filterKey, parseCursor, type PetQuery as ListQuery } from '../../pets/animal.ts'
import { PAGE_SIZE, PageSize, parseInt64 } from '../../store/contract.ts'
import { ApiError } from '../../errors.ts'

/** Converts an ID to a bigint. Other text becomes NaN, so that the contract rejects it with its message for numbers. */
export function toInt64(id: unknown): unknown {
  return typeof id === 'string' ? (parseInt64(id) ?? Number.NaN) : id
}

/** Null counts as absent. */
export const FilterArgs = z.object({
  status: PetStatus.nullish().transform((status) => status ?? undefined),
  categoryId: z.preprocess((id) => toInt64(id ?? undefined), NewPet.shape.categoryId.optional()),
})

const ListArgs = FilterArgs.extend({
  first: PageSize.nullish(),
  last: PageSize.nullish(),
  after: z.string().nullish(),
  before: z.string().nullish(),
})

/** Null counts as absent. */
export function pageSizeOf({ first, last }: Pick<z.input<typeof ListArgs>, 'first' | 'last'>): number {
  return first ?? last ?? PAGE_SIZE.default
}

/** The arguments of `pets` as a query. @throws ZodError, ApiError INVALID_ARGUMENT for invalid arguments */
export function toListQuery(args: unknown): ListQuery {
  const { first, last, after, before, ...filter } = ListArgs.parse(args)
  if (first && last) {
    const fields = [{ path: ['last'], message: 'must not be sent together with first' }]
    throw new ApiError('INVALID_ARGUMENT', 'Provide either first or last, not both.', { fields })
  }
  return {
    ...filter,
    limit: pageSizeOf({ first, last }),
    olderThan: after == null ? undefined : parseCursor(after, filterKey(filter), 'after'),
    newerThan: before == null ? undefined : parseCursor(before, filterKey(filter), 'before'),
    backward: Boolean(last),
  }
}
