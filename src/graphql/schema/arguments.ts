import { z } from 'zod'
import { isInt64, PAGE_SIZE, PageSize, parseInt64 } from '../../store/types.ts'
import { invalidArgumentError } from '../../errors.ts'
import { createCursors } from '../../store/cursor.ts'
import type { PageRequest } from '../../store/lists.ts'
import { IDEMPOTENCY_HOURS, IDEMPOTENCY_KEY_MAX_LENGTH } from '../../store/idempotency.ts'
import type { Filter, Input, Resource } from '../../store/resource.ts'
import type { Arguments } from './builder.ts'

export const DECIMAL_INT64 = 'an int64 in decimal digits'

export function pageArgs({ name: items }: Resource, arg: Arguments) {
  const size = `${PAGE_SIZE.min} to ${PAGE_SIZE.max}`
  return {
    first: arg.int({
      description: `Page size from the start, ${size}; ${PAGE_SIZE.default} without \`first\` and \`last\`.`,
    }),
    after: arg.string({ description: `Only ${items} after this cursor.` }),
    last: arg.int({ description: `Page size from the end, ${size}. Not together with \`first\`.` }),
    before: arg.string({ description: `Only ${items} before this cursor.` }),
  }
}

export function afterArg({ name: items }: Resource, arg: Arguments) {
  return arg.string({
    description: `Only ${items} that were added after this cursor: a \`cursor\` of this subscription, or a \`liveCursor\`. Without it: from now on. The header \`Last-Event-ID\` takes precedence.`,
  })
}

export function idempotencyKeyArg({ noun }: Resource, arg: Arguments) {
  return arg.string({
    description: `Makes a retry safe: for ${IDEMPOTENCY_HOURS} hours the same key with the same input returns the first ${noun} instead of adding another. 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters.`,
  })
}

type PageSizes = { first?: number | null | undefined; last?: number | null | undefined }

/** Null counts as absent. */
const pageSizeOf = ({ first, last }: PageSizes): number => first ?? last ?? PAGE_SIZE.default

const PageCost = PageSize.catch(1)

/** The cost of a page is its size. A size out of range costs 1, because it is rejected before anything is read. */
export const pageCost = (args: PageSizes): number => PageCost.parse(pageSizeOf(args))

/** @returns a function that converts an argument for the contract: null to undefined, an ID to an int64, or else to NaN */
function createToContract(schema: z.ZodType): (value: unknown) => unknown {
  if (!isInt64(schema)) return (value) => value ?? undefined
  return (value) => (typeof value === 'string' ? (parseInt64(value) ?? Number.NaN) : (value ?? undefined))
}

/** @returns a function that reads an input. It throws ApiError INVALID_ARGUMENT with the fields that are not valid */
export function createToInput<R extends Resource>({ input: schema }: R) {
  const members = Object.entries(schema.shape).map(([member, type]) => [member, createToContract(type)] as const)
  return (input: object): Input<R> => {
    const values = input as Record<string, unknown> // the contract checks their types
    const { data, error } = schema.safeParse(
      Object.fromEntries(members.map(([member, toContract]) => [member, toContract(values[member])])),
    )
    if (error) throw invalidArgumentError(error.issues, ['input'])
    return data as Input<R> // the schema is that of the input
  }
}

/** @returns functions for the filter and cursors of lists and subscriptions. They throw ApiError INVALID_ARGUMENT */
export function createListArguments<R extends Resource>(resource: R) {
  const cursors = createCursors(resource)
  const { filterKey, parseCursor } = cursors
  const shape: Record<string, z.ZodType> = {}
  for (const member of Object.keys(resource.filters)) {
    const schema = resource.item.shape[member] ?? z.never() // every filter is a member of the item
    shape[member] = z.preprocess(createToContract(schema), schema.optional())
  }
  const [size, cursor] = [PageSize.nullish(), z.string().nullish()]
  const pageShape = { first: size, last: size, after: cursor, before: cursor }
  const ListArgs = z.object({ ...(shape as object), ...pageShape }) // the type lacks the members of the filter

  function parseArgs(args: object) {
    const { data, error } = ListArgs.safeParse(args)
    if (error) throw invalidArgumentError(error.issues)
    const { first, last, after, before, ...filter } = data
    return { first, last, after, before, filter: filter as Filter<R> } // the schema has the members of the filter
  }

  return {
    ...cursors,
    toFilter: (args: object) => parseArgs(args).filter,
    toPageRequest(args: object): PageRequest<R> {
      const { first, last, after, before, filter } = parseArgs(args)
      if (first && last)
        throw invalidArgumentError([{ path: ['last'], message: 'must not be sent together with first' }])
      return {
        ...filter,
        limit: pageSizeOf({ first, last }),
        olderThan: after == null ? undefined : parseCursor(after, filterKey(filter), 'after'),
        newerThan: before == null ? undefined : parseCursor(before, filterKey(filter), 'before'),
        backward: Boolean(last),
      }
    },
  }
}
