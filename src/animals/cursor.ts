import { invalidArgument } from '../errors.ts'
import { parseInt64, type PetStatus } from './animal.ts'

/** Which animals a list has: those that equal each member that is given. */
export interface Filter {
  status?: PetStatus | undefined
  categoryId?: bigint | undefined
}

/** Identifies a filter. Without a category it is what the cursors of earlier versions contain. */
export function filterKey({ status, categoryId }: Filter): string {
  const name = status ?? 'all'
  return categoryId === undefined ? name : `${name},${categoryId}`
}

/** A position in a list, opaque to clients. It contains the filter of the list, and is valid only with that filter. */
export function toCursor(id: bigint, filter: string = 'all'): string {
  return Buffer.from(`${filter}:${id}`).toString('base64url')
}

/** @throws ApiError INVALID_ARGUMENT, which names the argument, for text that toCursor does not return for this filter */
export function parseCursor(cursor: string, filter: string | undefined, argument: string): bigint {
  const [, id = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split(':')
  const position = parseInt64(id)
  if (position !== undefined && toCursor(position, filter) === cursor) return position
  throw invalidArgument([{ path: [argument], message: 'must be a cursor from a list with the same filter' }])
}
