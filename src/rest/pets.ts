import { hash } from 'node:crypto'
import { type Request, type Response, Router } from 'express'
import { z } from 'zod'
import { NewPet, PAGE_SIZE, PageSize, PetStatus } from '../animals/animal.ts'
import { parseCursor, toCursor } from '../animals/cursor.ts'
import { createCoalescer } from '../coalesce.ts'
import type { Animals } from '../animals/service.ts'
import type { Caller } from '../auth/api-keys.ts'
import { checkScope, requireScope } from '../auth/authenticate.ts'
import { callerOf } from '../http/request.ts'
import { ApiError } from '../errors.ts'
import { jsonBody } from '../http/body.ts'
import { sendJson } from '../http/send-json.ts'
import { toJson } from '../http/json.ts'
import { allowMethods } from '../http/methods.ts'
import { SUNSET_AT } from './deprecation.ts'
import { type Environments, referenceBases } from './references.ts'

const NO_REPEAT = 'must not be repeated'

/** Specification §4.1: the query of listPets. A number is digits and nothing else; other parameters are ignored. */
export const ListPets = z.object({
  limit: z
    .string(NO_REPEAT)
    .transform((digits) => (/^\d{1,9}$/.test(digits) ? Number(digits) : Number.NaN))
    .pipe(PageSize)
    .default(PAGE_SIZE.default),
  status: z.string(NO_REPEAT).pipe(PetStatus).optional(),
  cursor: z.string(NO_REPEAT).optional(),
})

interface PetsRouterDependencies {
  animals: Animals
  environments: Environments
  now(): Date
  /** Told of every call of getPet, so that operators know who has to move before it goes. */
  recordDeprecatedCall(caller: Caller): void
}

/** The REST contract (specification §4), below `/v1`. Translates between HTTP and the service; decides nothing. */
export function petsRouter({ animals, environments, now, recordDeprecatedCall }: PetsRouterDependencies): Router {
  const base = referenceBases(environments)['/pets']
  const coalesceList = createCoalescer<CacheableResponse>()
  const coalesceGet = createCoalescer<CacheableResponse>()

  async function listPets(req: Request, res: Response): Promise<void> {
    checkScope(req, 'pets:read')
    sendCacheable(req, res, await req.deadline.run(() => coalesceList(req.url, () => readList(req.query))))
  }

  async function readList(parameters: Request['query']): Promise<CacheableResponse> {
    const { limit, status, cursor } = ListPets.parse(parameters)
    const olderThan = cursor === undefined ? undefined : parseCursor(cursor, status, 'cursor')
    const page = await animals.list({ limit, status, olderThan })
    const last = page.animals.at(-1)
    const address = (rel: string, position?: string) => {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(status && { status }),
        ...(position && { cursor: position }),
      })
      return `<${base}pets?${query}>; rel="${rel}"`
    }
    const next = page.hasMore && last ? [address('next', toCursor(last.id, status))] : []
    return { ...toCacheable(page.animals), link: [...next, address('first')].join(', ') }
  }

  async function createPet(req: Request, res: Response): Promise<void> {
    const key = req.headers['idempotency-key']
    const once = key === undefined ? undefined : { clientId: callerOf(req).clientId, key: String(key) }
    const pet = NewPet.parse(req.body)
    const { animal, replayed } = await req.deadline.run(() => animals.create(pet, once), { mayHaveExecuted: true })
    if (replayed) res.setHeader('Idempotent-Replayed', 'true')
    res.status(201).setHeader('Location', `${base}pets/${animal.id}`)
    sendJson(res, toJson(animal))
  }

  async function getPet(req: Request, res: Response): Promise<void> {
    checkScope(req, 'pets:read')
    if (now() >= SUNSET_AT) {
      throw new ApiError(
        'GONE',
        'This operation was removed on 5 December 2030: use GET /v1/pets with a status filter.',
      )
    }
    recordDeprecatedCall(callerOf(req))
    const petId = String(req.params.petId)
    const read = async () => toCacheable(await animals.get(petId))
    sendCacheable(req, res, await req.deadline.run(() => coalesceGet(petId, read)))
  }

  const router = Router({ strict: true, caseSensitive: true })
  router
    .route('/pets')
    .get(listPets)
    .post(requireScope('pets:write'), jsonBody, createPet)
    .all(allowMethods('GET', 'HEAD', 'POST'))
  router.route('/pets/:petId').get(getPet).all(allowMethods('GET', 'HEAD'))
  return router
}

/** An answer to a read, which those who asked the same at the same time share. */
interface CacheableResponse {
  json: string
  etag: string
  link?: string
}

function toCacheable(body: unknown): CacheableResponse {
  const json = toJson(body)
  return { json, etag: `"${hash('sha256', json, 'base64url').slice(0, 22)}"` }
}

/** A read with a validator: 304 when the client has just these bytes (RFC 9110 §13.1.2). */
function sendCacheable(req: Request, res: Response, { json, etag, link }: CacheableResponse): void {
  res.setHeader('Cache-Control', 'private, no-cache')
  res.setHeader('ETag', etag)
  if (link) res.setHeader('Link', link)
  if (etagMatches(req.headers['if-none-match'], etag)) res.status(304).end()
  else sendJson(res, json)
}

/** Whether an If-None-Match names the tag, compared weakly. Express's `req.fresh` would heed `no-cache`, as fetch sends. */
function etagMatches(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = new Set((ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, '')))
  return tags.has(etag) || tags.has('*')
}
