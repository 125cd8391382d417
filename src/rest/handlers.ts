import type { Request } from 'express'
import { z } from 'zod'
import { createCoalescer } from '../lib/coalesce.ts'
import type { ErrorCode } from '../errors.ts'
import { type CacheableResponse, sendCacheable, toCacheable } from '../http/cacheable.ts'
import { sendJson, toJson } from '../http/json.ts'
import { callerOf } from '../http/request.ts'
import { PAGE_SIZE, PageSize } from '../store/types.ts'
import { createCursors } from '../store/cursor.ts'
import { IDEMPOTENCY_HOURS, IdempotencyKey } from '../store/idempotency.ts'
import { type Filter, type Input, type Resource, valuesOf } from '../store/resource.ts'
import type { HandlerFactory } from './operation.ts'

const Parameter = z.string('must not be repeated')

/** The parameters of a list (specification §4.1). `limit` has only digits. @param filters schemas of text, by name */
export function listParameters(
  { name: items }: Resource,
  filters: Record<string, z.ZodType<string, string>>,
  cursorExample: string,
) {
  const filterShape = Object.entries(filters).map(([name, schema]) => [
    name,
    z.optional(Parameter.pipe(schema)).meta({ description: `Filter by ${name}.` }),
  ])
  const names = Object.keys(filters).map((name) => `\`${name}\``)
  const sameFilter = names.length ? `, valid only with the same ${names.join(', ')} filter` : ''
  return z.object({
    limit: Parameter.transform((digits) => (/^\d{1,9}$/.test(digits) ? Number(digits) : Number.NaN))
      .pipe(PageSize)
      .default(PAGE_SIZE.default)
      .meta({ description: `Maximum number of ${items} to return.`, format: 'int32' }),
    ...(Object.fromEntries(filterShape) as Record<string, z.ZodOptional>), // the type of fromEntries is any
    cursor: Parameter.optional().meta({
      description: `Start of the page: from a \`next\` link, opaque${sameFilter}.`,
      pattern: '^[A-Za-z0-9_-]+$',
      maxLength: 512,
      examples: [cursorExample],
    }),
  })
}

type ListParameters = ReturnType<typeof listParameters>

/** Sends a page of a list, with links to the first and the next page. @param path below `/v1` */
export function handleList<R extends Resource>(resource: R, path: string, Query: ListParameters): HandlerFactory {
  const { filterKey, toCursor, parseCursor } = createCursors(resource)

  return ({ services }, base) => {
    const { list } = services.of(resource)
    const coalesce = createCoalescer<CacheableResponse>()

    function pageLink(rel: string, limit: number, filter: Filter<R>, cursor?: string): string {
      // None of the values needs percent-encoding.
      const values = valuesOf(resource, filter).map(([member, value]) => `&${member}=${String(value)}`)
      const end = cursor === undefined ? '' : `&cursor=${cursor}`
      return `<${base}${path}?limit=${limit}${values.join('')}${end}>; rel="${rel}"`
    }

    async function read(parameters: Request['query']): Promise<CacheableResponse> {
      const { limit, cursor, ...rest } = Query.parse(parameters)
      const filter = rest as Filter<R> // the schema has the members of the filter
      const key = filterKey(filter)
      const olderThan = cursor === undefined ? undefined : parseCursor(cursor, key, 'cursor')
      const page = await list({ limit, ...filter, olderThan })
      const last = page.items.at(-1)
      const next = page.hasMore && last ? [pageLink('next', limit, filter, toCursor(last.id, key))] : []
      return { ...toCacheable(toJson(page.items)), link: [...next, pageLink('first', limit, filter)].join(', ') }
    }

    return async (req, res) => {
      const { url, query } = req // parsed here, in the turn of its client: the read may begin later
      sendCacheable(req, res, await req.deadline.waitFor(() => coalesce(url, () => read(query))))
    }
  }
}

export function idempotencyHeader({ noun }: Resource) {
  return z.object({
    'Idempotency-Key': IdempotencyKey.optional().meta({
      description: `Chosen by the client, new for each ${noun}. For ${IDEMPOTENCY_HOURS} hours the same key with the same body returns the first ${noun}.`,
      examples: ['8e03978e-40d5-43e8-bc93-6894a57f9324'],
    }),
  })
}

/** The codes of the errors of a creation, beside those that any operation may have. */
export const CREATION_ERRORS: ErrorCode[] = [
  'INVALID_ARGUMENT',
  'ABORTED',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'IDEMPOTENCY_KEY_REUSED',
  'DEADLINE_EXCEEDED',
]

/** Creates an item, once for each Idempotency-Key. @param path below `/v1` */
export function handleCreate<R extends Resource>(resource: R, path: string): HandlerFactory {
  return ({ services }, base) => {
    const { create } = services.of(resource)
    return async (req, res) => {
      const key = req.headers['idempotency-key']
      const idempotency = key === undefined ? undefined : { clientId: callerOf(req).clientId, key: String(key) }
      const input = resource.input.parse(req.body) as Input<R> // the schema is that of the input
      req.body = undefined // parsed, it may take a megabyte while the statement waits
      const { item, replayed } = await req.deadline.waitFor(() => create(input, idempotency), { mayHaveExecuted: true })
      if (replayed) res.setHeader('Idempotent-Replayed', 'true')
      res.status(201).setHeader('Location', `${base}${path}/${item.id}`)
      sendJson(res, toJson(item))
    }
  }
}

export function handleGet<R extends Resource>(resource: R, parameter: string): HandlerFactory {
  return ({ services }) => {
    const { get } = services.of(resource)
    return async (req, res) => {
      const id = String(req.params[parameter])
      sendCacheable(req, res, toCacheable(toJson(await req.deadline.waitFor(() => get(id)))))
    }
  }
}
