import type { RequestHandler } from 'express'
import { z } from 'zod'
import { Int64 } from '../../animals/animal.ts'
import { createCoalescer } from '../../coalesce.ts'
import { ApiError } from '../../errors.ts'
import { type CacheableResponse, sendCacheable, toCacheable } from '../../http/cacheable.ts'
import { toJson } from '../../http/json.ts'
import { callerOf } from '../../http/request.ts'
import type { RouteOf } from '../../http/routes.ts'
import { DEPRECATION, SUNSET, SUNSET_AT, SUNSET_DATE } from '../deprecation.ts'
import { ConditionalHeaders, json, REX } from '../openapi/components.ts'
import { DEPRECATION_HEADERS, headers } from '../openapi/responses.ts'
import { type Operation, type PublicUrls, referenceBase } from '../operation.ts'

const Path = z.object({ petId: Int64.meta({ description: 'Identifier of the animal.', example: REX.id }) })

/** The list is the replacement that the specification names; only GraphQL returns one animal by its id. */
const REPLACEMENT =
  'For one animal use the GraphQL query `pet(id:)` at /graphql, for lists GET /v1/pets with a status filter.'

/** 410 from the sunset date on (specification §4.3). */
export const getPet: Operation = {
  method: 'get',
  path: '/pets/{petId}',
  scope: 'pets:read',
  parameters: { path: Path, header: ConditionalHeaders },
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'GONE'],
  createHandler({ animals, now, recordDeprecatedCall }) {
    const coalesce = createCoalescer<CacheableResponse>()
    return async (req, res) => {
      if (now() >= SUNSET_AT) {
        throw new ApiError('GONE', `This operation was removed on ${SUNSET_DATE}. ${REPLACEMENT}`)
      }
      recordDeprecatedCall(callerOf(req))
      const petId = String(req.params.petId)
      const read = async () => toCacheable(toJson(await animals.get(petId)))
      sendCacheable(req, res, await req.deadline.run(() => coalesce(petId, read)))
    }
  },
  document: {
    operationId: 'getPet',
    summary: 'Get an animal',
    description: `Available until ${SUNSET_DATE}; responds 410 afterwards. ${REPLACEMENT}`,
    deprecated: true,
    responses: {
      200: {
        description: 'The animal.',
        headers: headers('ETag', ...DEPRECATION_HEADERS),
        content: json('Animal', { rex: { summary: 'An animal', value: REX } }),
      },
      304: { description: 'The animal has not changed.', headers: headers('ETag', ...DEPRECATION_HEADERS) },
    },
  },
}

/** Adds Deprecation, Sunset and the successor link (RFC 5829) to every response of getPet, whatever its status. */
export function deprecateGetPet(config: PublicUrls, routeOf: RouteOf): RequestHandler {
  const link = `<${referenceBase(config, getPet.path)}pets>; rel="successor-version"`
  const route = `/v1${getPet.path}`
  return (req, res, next) => {
    if (routeOf(req.path) === route) {
      res.setHeader('Deprecation', DEPRECATION)
      res.setHeader('Sunset', SUNSET)
      res.setHeader('Link', link)
    }
    next()
  }
}
