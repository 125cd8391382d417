import type { Request, Response } from 'express'
import { z } from 'zod'
import { PAGE_SIZE, PageSize, PetStatus } from '../../animals/animal.ts'
import { parseCursor, toCursor } from '../../animals/cursor.ts'
import type { Animals } from '../../animals/service.ts'
import { checkScope } from '../../auth/authenticate.ts'
import { createCoalescer } from '../../coalesce.ts'
import { type CacheableResponse, sendCacheable, toCacheable } from '../../http/cacheable.ts'
import { toJson } from '../../http/json.ts'
import { CURSOR_EXAMPLE, IF_NONE_MATCH, json, ref, REX, TOM, toSchema } from '../openapi/components.ts'
import { errors, headers } from '../openapi/responses.ts'

const NO_REPEAT = 'must not be repeated'

/** Specification §4.1. A number consists of digits only; unknown parameters are ignored. */
const Query = z.object({
  limit: z
    .string(NO_REPEAT)
    .transform((digits) => (/^\d{1,9}$/.test(digits) ? Number(digits) : Number.NaN))
    .pipe(PageSize)
    .default(PAGE_SIZE.default),
  status: z.string(NO_REPEAT).pipe(PetStatus).optional(),
  cursor: z.string(NO_REPEAT).optional(),
})

/** @param base what the path in a `Link` begins with, see referenceBases */
export function listPets(animals: Animals, base: string) {
  const coalesce = createCoalescer<CacheableResponse>()

  async function read(parameters: Request['query']): Promise<CacheableResponse> {
    const query = Query.parse(parameters)
    const { limit, status, cursor } = query
    const olderThan = cursor === undefined ? undefined : parseCursor(cursor, status, 'cursor')
    const page = await animals.list({ limit, status, olderThan })
    const last = page.animals.at(-1)
    const next = page.hasMore && last ? [pageLink(base, 'next', query, toCursor(last.id, status))] : []
    return { ...toCacheable(toJson(page.animals)), link: [...next, pageLink(base, 'first', query)].join(', ') }
  }

  return async (req: Request, res: Response): Promise<void> => {
    checkScope(req, 'pets:read')
    sendCacheable(req, res, await req.deadline.run(() => coalesce(req.url, () => read(req.query))))
  }
}

function pageLink(base: string, rel: string, { limit, status }: z.infer<typeof Query>, cursor?: string): string {
  const query = new URLSearchParams({ limit: String(limit), ...(status && { status }), ...(cursor && { cursor }) })
  return `<${base}pets?${query}>; rel="${rel}"`
}

export const listPetsDocument = {
  operationId: 'listPets',
  tags: ['pets'],
  summary: 'List animals',
  description:
    'A page of animals, newest first. Follow the `next` links to read the whole list: each animal that existed at the start is returned exactly once, even if animals are added meanwhile.',
  parameters: [
    {
      name: 'limit',
      in: 'query',
      description: 'Maximum number of animals to return.',
      schema: { ...toSchema(PageSize), format: 'int32', default: PAGE_SIZE.default },
    },
    { name: 'status', in: 'query', description: 'Filter by status.', schema: ref('schemas', 'PetStatus') },
    {
      name: 'cursor',
      in: 'query',
      description: 'Start of the page: from a `next` link, opaque, valid only with the same `status` filter.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$', maxLength: 64, examples: [CURSOR_EXAMPLE] },
    },
    IF_NONE_MATCH,
  ],
  responses: {
    200: {
      description: 'The page.',
      headers: headers('Link', 'ETag'),
      content: json('Pets', {
        animals: { summary: 'Two animals, the second without a status', value: [REX, TOM] },
        none: { summary: 'No animal matches the filter', value: [] },
      }),
    },
    304: { description: 'The page has not changed.', headers: headers('Link', 'ETag') },
    ...errors({ codes: ['INVALID_ARGUMENT'] }),
  },
}
