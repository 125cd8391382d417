import type { Request } from 'express'
import { z } from 'zod'
import { PetStatus, parseCursor, toCursor } from '../../pets/animal.ts'
import { PAGE_SIZE, PageSize } from '../../store/contract.ts'
import { createCoalescer } from '../../coalesce.ts'
import { type CacheableResponse, sendCacheable, toCacheable } from '../../http/cacheable.ts'
import { toJson } from '../../http/json.ts'
import { ConditionalHeaders, CURSOR_EXAMPLE, ETAG, header, json, REX, TOM } from '../openapi/components.ts'
import type { Operation } from '../operation.ts'

const NO_REPEAT = 'must not be repeated'

/** Specification §4.1. A number consists of digits only; unknown parameters are ignored. */
const Query = z.object({
  limit: z
    .string(NO_REPEAT)
    .transform((digits) => (/^\d{1,9}$/.test(digits) ? Number(digits) : Number.NaN))
    .pipe(PageSize)
    .default(PAGE_SIZE.default)
    .meta({ description: 'Maximum number of animals to return.', format: 'int32' }),
  status: z.string(NO_REPEAT).pipe(PetStatus).optional().meta({ description: 'Filter by status.' }),
  cursor: z
    .string(NO_REPEAT)
    .optional()
    .meta({
      description: 'Start of the page: from a `next` link, opaque, valid only with the same `status` filter.',
      pattern: '^[A-Za-z0-9_-]+$',
      maxLength: 64,
      examples: [CURSOR_EXAMPLE],
    }),
})

const headers = {
  ETag: ETAG,
  Link: header(
    '`next` and `first` (RFC 8288), relative to the URL of the request.',
    `</v1/pets?limit=20&status=available&cursor=${CURSOR_EXAMPLE}>; rel="next"`,
  ),
}

export const listPets: Operation = {
  method: 'get',
  path: '/pets',
  scope: 'pets:read',
  parameters: { query: Query, header: ConditionalHeaders },
  errors: ['INVALID_ARGUMENT'],
  createHandler({ animals }, base) {
    const coalesce = createCoalescer<CacheableResponse>()

    async function read(parameters: Request['query']): Promise<CacheableResponse> {
      const query = Query.parse(parameters)
      const { limit, status, cursor } = query
      const olderThan = cursor === undefined ? undefined : parseCursor(cursor, status, 'cursor')
      const page = await animals.list({ limit, status, olderThan })
      const last = page.items.at(-1)
      const next = page.hasMore && last ? [pageLink(base, 'next', query, toCursor(last.id, status))] : []
      return { ...toCacheable(toJson(page.items)), link: [...next, pageLink(base, 'first', query)].join(', ') }
    }

    return async (req, res) => {
      sendCacheable(req, res, await req.deadline.run(() => coalesce(req.url, () => read(req.query))))
    }
  },
  document: {
    operationId: 'listPets',
    summary: 'List animals',
    description:
      'A page of animals, newest first. Follow the `next` links to read the whole list: each animal that existed at the start is returned exactly once, even if animals are added meanwhile.',
    responses: {
      200: {
        description: 'The page.',
        headers,
        content: json('Pets', {
          animals: { summary: 'Two animals, the second without a status', value: [REX, TOM] },
          none: { summary: 'No animal matches the filter', value: [] },
        }),
      },
      304: { description: 'The page has not changed.', headers },
    },
  },
}

function pageLink(base: string, rel: string, { limit, status }: z.infer<typeof Query>, cursor?: string): string {
  // None of the values needs percent-encoding.
  const query = [`limit=${limit}`, status && `status=${status}`, cursor && `cursor=${cursor}`].filter(Boolean).join('&')
  return `<${base}pets?${query}>; rel="${rel}"`
}
