import { type NextFunction, type Request, type Response, Router } from 'express'
import { z } from 'zod'
import { DEFAULT_PAGE_SIZE, NewPet, PageSize, PetStatus } from '../animals/animal.ts'
import { parseCursor, toCursor } from '../animals/cursor.ts'
import type { Animals } from '../animals/service.ts'
import { ApiError } from '../errors.ts'
import { jsonBody } from '../http/json-body.ts'
import { toJson } from '../http/json.ts'
import { allow } from '../http/methods.ts'

const once = 'must be given once'

/** Specification §4.1: the query of listPets. A number is digits and nothing else; other parameters are ignored. */
export const ListPets = z.object({
  limit: z
    .string(once)
    .transform((digits) => (/^\d{1,9}$/.test(digits) ? Number(digits) : Number.NaN))
    .pipe(PageSize)
    .default(DEFAULT_PAGE_SIZE),
  status: z.string(once).pipe(PetStatus).optional(),
  cursor: z.string(once).optional(),
})

/** The REST contract (specification §4), below `/v1`. Translates between HTTP and the service; decides nothing. */
export function petsRouter(animals: Animals): Router {
  async function listPets(req: Request, res: Response): Promise<void> {
    const { limit, status, cursor } = ListPets.parse(req.query)
    const olderThan = cursor === undefined ? undefined : parseCursor(cursor, status, 'cursor')
    const page = await animals.list({ limit, status, olderThan })
    const last = page.animals.at(-1)
    const address = (rel: string, position?: string) => {
      const query = new URLSearchParams({
        limit: String(limit),
        ...(status && { status }),
        ...(position && { cursor: position }),
      })
      return `</v1/pets?${query}>; rel="${rel}"`
    }
    const next = page.more && last ? [address('next', toCursor(last.id, status))] : []
    res.setHeader('Link', [...next, address('first')].join(', '))
    sendRead(res, page.animals)
  }

  async function createPet(req: Request, res: Response): Promise<void> {
    const animal = await animals.create(NewPet.parse(req.body))
    res.status(201).setHeader('Location', `/v1/pets/${animal.id}`)
    send(res, animal)
  }

  async function getPet(req: Request, res: Response): Promise<void> {
    sendRead(res, await animals.get(String(req.params.petId)))
  }

  const router = Router({ strict: true, caseSensitive: true })
  router
    .route('/pets')
    .get(listPets)
    .post(jsonBody, createPet)
    .all(allow('GET', 'HEAD', 'POST'))
  router.route('/pets/:petId').get(getPet).all(allow('GET', 'HEAD'))
  router.use(() => {
    throw new ApiError('NOT_FOUND', 'There is nothing at this address.')
  })
  return router
}

/** From then on getPet is gone (specification §4.3). */
export const GET_PET_SUNSET = new Date('2030-12-05T00:00:00Z')
/** When the deprecation was announced with version 1.0.0 of the interface. */
const GET_PET_DEPRECATED = new Date('2025-12-05T00:00:00Z')

/** Says on every answer of getPet that it is deprecated: RFC 9745, RFC 8594, RFC 5829. */
export function deprecateGetPet(req: Request, res: Response, next: NextFunction): void {
  if (/^\/v1\/pets\/[^/]+$/.test(req.path)) {
    res.setHeader('Deprecation', `@${GET_PET_DEPRECATED.getTime() / 1000}`)
    res.setHeader('Sunset', GET_PET_SUNSET.toUTCString())
    res.setHeader('Link', '</v1/pets>; rel="successor-version"')
  }
  next()
}

function sendRead(res: Response, body: unknown): void {
  res.setHeader('Cache-Control', 'private, no-cache')
  send(res, body)
}

function send(res: Response, body: unknown): void {
  res.setHeader('Content-Type', 'application/json; charset=utf-8')
  res.send(toJson(body))
}
