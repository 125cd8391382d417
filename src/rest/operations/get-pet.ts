import type { Request, Response } from 'express'
import { Int64 } from '../../animals/animal.ts'
import type { Animals } from '../../animals/service.ts'
import type { Caller } from '../../auth/api-keys.ts'
import { checkScope } from '../../auth/authenticate.ts'
import { createCoalescer } from '../../coalesce.ts'
import { ApiError } from '../../errors.ts'
import { type CacheableResponse, sendCacheable, toCacheable } from '../../http/cacheable.ts'
import { toJson } from '../../http/json.ts'
import { callerOf } from '../../http/request.ts'
import { SUNSET_AT, SUNSET_DATE } from '../deprecation.ts'
import { IF_NONE_MATCH, json, REX, toSchema } from '../openapi/components.ts'
import { DEPRECATION_HEADERS, errors, headers } from '../openapi/responses.ts'

export interface GetPetDependencies {
  animals: Animals
  now(): Date
  /** Called for every request, so that operators know which clients must migrate before the sunset date. */
  recordDeprecatedCall(caller: Caller): void
}

/** The list is the replacement that the specification names; only GraphQL returns one animal by its id. */
const REPLACEMENT =
  'For one animal use the GraphQL query `pet(id:)` at /graphql, for lists GET /v1/pets with a status filter.'

/** 410 from the sunset date on (specification §4.3). */
export function getPet({ animals, now, recordDeprecatedCall }: GetPetDependencies) {
  const coalesce = createCoalescer<CacheableResponse>()

  return async (req: Request, res: Response): Promise<void> => {
    checkScope(req, 'pets:read')
    if (now() >= SUNSET_AT) {
      const message = `This operation was removed on ${SUNSET_DATE}. ${REPLACEMENT}`
      throw new ApiError('GONE', message)
    }
    recordDeprecatedCall(callerOf(req))
    const petId = String(req.params.petId)
    const read = async () => toCacheable(toJson(await animals.get(petId)))
    sendCacheable(req, res, await req.deadline.run(() => coalesce(petId, read)))
  }
}

export const getPetDocument = {
  operationId: 'getPet',
  tags: ['pets'],
  summary: 'Get an animal',
  description: `Available until ${SUNSET_DATE}; responds 410 afterwards. ${REPLACEMENT}`,
  deprecated: true,
  parameters: [
    {
      name: 'petId',
      in: 'path',
      required: true,
      description: 'Identifier of the animal.',
      schema: toSchema(Int64),
      example: REX.id,
    },
    IF_NONE_MATCH,
  ],
  responses: {
    200: {
      description: 'The animal.',
      headers: headers('ETag', ...DEPRECATION_HEADERS),
      content: json('Animal', { rex: { summary: 'An animal', value: REX } }),
    },
    304: { description: 'The animal has not changed.', headers: headers('ETag', ...DEPRECATION_HEADERS) },
    ...errors({ codes: ['INVALID_ARGUMENT', 'NOT_FOUND', 'GONE'], headers: DEPRECATION_HEADERS }),
  },
}
