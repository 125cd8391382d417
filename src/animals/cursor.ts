import { ApiError } from '../errors.ts'
import { parseInt64, PetStatus } from './animal.ts'

/**
 * The place of an animal in a list, opaque to clients. It is bound to the list's filter: a cursor from one list says
 * nothing about another.
 */
export function toCursor(id: bigint, status: PetStatus | undefined): string {
  return Buffer.from(`${status ?? 'all'}:${id}`).toString('base64url')
}

/**
 * @param argument name of the parameter or argument, for the message
 * @returns the id that the cursor stands for
 * @throws ApiError INVALID_ARGUMENT for text that this service did not give out for this filter
 */
export function parseCursor(cursor: string, status: PetStatus | undefined, argument: string): bigint {
  const [filter, id = ''] = Buffer.from(cursor, 'base64url').toString('latin1').split(':')
  const position = parseInt64(id)
  if (position === undefined || toCursor(position, status) !== cursor) {
    const known = position !== undefined && ['all', ...PetStatus.options].includes(filter ?? '')
    const problem = known ? 'is from a list with another status filter' : 'is not a cursor of this service'
    throw new ApiError('INVALID_ARGUMENT', `${argument}: ${problem}`)
  }
  return position
}
