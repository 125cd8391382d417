import { z } from 'zod'
import { Int64 } from '../../store/contract.ts'
import { ApiError } from '../../errors.ts'
import { sendCacheable, toCacheable } from '../../http/cacheable.ts'
import { toJson } from '../../http/json.ts'
import { callerOf } from '../../http/request.ts'
import { DEPRECATION, SUNSET, SUNSET_AT, SUNSET_DATE } from '../deprecation.ts'
import { ConditionalHeaders, ETAG, header, json, REX } from '../openapi/components.ts'
import type { Operation } from '../operation.ts'

const Path = z.object({ petId: Int64.meta({ description: 'Identifier of the animal.', example: REX.id }) })

/** The list is the replacement that the specification names; only GraphQL returns one animal by its id. */
const REPLACEMENT =
  'For one animal use the GraphQL query `pet(id:)` at /graphql, for lists GET /v1/pets with a status filter.'

const headers = {
  ETag: ETAG,
  Deprecation: header('Since when the operation is deprecated (RFC 9745).', DEPRECATION, '^@\\d+$'),
  Sunset: header('When the operation will be removed (RFC 8594).', SUNSET),
  Link: header('The `successor-version` (RFC 5829).', '</v1/pets>; rel="successor-version"'),
}

/** It responds 410 from the sunset date on (specification §4.3). */
export const getPet: Operation = {
  method: 'get',
  path: '/pets/{petId}',
  scope: 'pets:read',
  parameters: { path: Path, header: ConditionalHeaders },
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'GONE'],
  toHeaders: (base) => ({ Deprecation: DEPRECATION, Sunset: SUNSET, Link: `<${base}pets>; rel="successor-version"` }),
  createHandler({ animals, now, observe }) {
    return async (req, res) => {
      if (now() >= SUNSET_AT) {
        throw new ApiError('GONE', `This operation was removed on ${SUNSET_DATE}. ${REPLACEMENT}`)
      }
      // Operators see in it which clients must migrate before that date.
      observe({ type: 'deprecated-call', keyPrefix: callerOf(req).keyPrefix })
      const petId = String(req.params.petId)
      const animal = await req.deadline.run(() => animals.get(petId))
      sendCacheable(req, res, toCacheable(toJson(animal)))
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
        headers,
        content: json('Animal', { rex: { summary: 'An animal', value: REX } }),
      },
      304: { description: 'The animal has not changed.', headers },
    },
  },
}
