import { invalidArgumentError } from '../errors.ts'
import { isInt64, jsonTypeOf, parseInt64 } from './types.ts'
import { type Filter, type Resource, valuesOf } from './resource.ts'

/** Stands in a cursor for a member that the filter does not give. */
const ANY = 'all'

/** Names that a filter must not have: the parameters of lists in both APIs, and the members of PageRequest. */
const RESERVED = new Set('limit cursor first last after before olderThan newerThan backward onPrimary'.split(' '))

/** The positions in the lists of a resource, opaque to clients. */
export function createCursors<R extends Resource>(resource: R) {
  const members = Object.keys(resource.filters)
  for (const member of members) requireFilterable(resource, member)
  const prefix = resource.version1 ? '' : `${resource.name}:`

  /** Identifies a filter by the values of its members, up to the last member that has a value. */
  function filterKey(filter: Filter<R>): string {
    const values = new Map(valuesOf(resource, filter))
    const end = Math.max(members.findLastIndex((member) => values.has(member)) + 1, 1)
    return members
      .slice(0, end)
      .map((member) => String(values.get(member) ?? ANY))
      .join()
  }

  /** A cursor contains the resource and the filter of the list, and is valid only with those. */
  function toCursor(id: bigint, key = filterKey({})): string {
    return Buffer.from(`${prefix}${key}:${id}`).toString('base64url')
  }

  /** @throws ApiError INVALID_ARGUMENT, which names the argument, for text that toCursor does not return for this filter */
  function parseCursor(cursor: string, key: string | undefined, argument: string): bigint {
    const id = Buffer.from(cursor, 'base64url').toString('latin1').split(':').at(-1)
    const position = parseInt64(id ?? '')
    if (position !== undefined && toCursor(position, key) === cursor) return position
    throw invalidArgumentError([{ path: [argument], message: 'must be a cursor from a list with the same filter' }])
  }

  return { filterKey, toCursor, parseCursor }
}

/** @throws Error for a reserved name, and for free text, which may be ANY or contain what separates values in a cursor */
function requireFilterable({ name, item }: Resource, member: string): void {
  const schema = item.shape[member]
  const values = schema && jsonTypeOf(schema).values
  const isEnum = values?.every((value) => /^\w+$/.test(String(value)) && value !== ANY)
  if (RESERVED.has(member) || (!isEnum && !(schema && isInt64(schema))))
    throw new Error(`${name} cannot be filtered by ${member}`)
}
