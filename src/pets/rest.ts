import { z } from 'zod'
import { ApiError } from '../errors.ts'
import { callerOf } from '../http/request.ts'
import { CREATION_ERRORS, handleCreate, handleGet, handleList } from '../rest/handlers.ts'
import { idempotencyHeader, listParameters } from '../rest/handlers.ts'
import { ConditionalHeaders, ETAG, header } from '../rest/openapi/components.ts'
import { creationBody, creationResponses, listResponses, readResponses } from '../rest/openapi/components.ts'
import type { Operation, RestApi } from '../rest/operation.ts'
import { Int64, PAGE_SIZE } from '../store/types.ts'
import { Animal, animals, filterKey, NewPet, PetStatus, toCursor } from './animal.ts'

/** The example of a cursor. Its filter is the example of PetStatus, so that all examples of listPets work together. */
const CURSOR = toCursor(42n, filterKey({ status: 'available' }))

const NEW_REX = { name: 'Rex', categoryId: 7, status: 'available' }
const NEW_TOM = { name: 'Tom', categoryId: 7 }
const REX = { id: 42, ...NEW_REX }
const TOM = { id: 41, ...NEW_TOM }

const Pets = z.array(Animal).max(PAGE_SIZE.max).meta({ id: 'Pets', description: 'Animals, newest first.' })

const ListQuery = listParameters(animals, { status: PetStatus }, CURSOR)

const listPets: Operation = {
  method: 'get',
  path: '/pets',
  scope: animals.scopes.read,
  parameters: { query: ListQuery, header: ConditionalHeaders },
  errors: ['INVALID_ARGUMENT'],
  createHandler: handleList(animals, 'pets', ListQuery),
  document: {
    operationId: 'listPets',
    summary: 'List animals',
    description:
      'A page of animals, newest first. Follow the `next` links to read the whole list: each animal that existed at the start is returned exactly once, even if animals are added meanwhile.',
    responses: listResponses(Pets, `/v1/pets?limit=20&status=available&cursor=${CURSOR}`, {
      animals: { summary: 'Two animals, the second without a status', value: [REX, TOM] },
      none: { summary: 'No animal matches the filter', value: [] },
    }),
  },
}

const createPet: Operation = {
  method: 'post',
  path: '/pets',
  scope: animals.scopes.write,
  parameters: { header: idempotencyHeader(animals) },
  errors: CREATION_ERRORS,
  createHandler: handleCreate(animals, 'pets'),
  document: {
    operationId: 'createPet',
    summary: 'Add an animal',
    description:
      'Adds an animal and returns it with its new id. A 201 response means that the animal is durably stored. With an `Idempotency-Key` the request may be repeated safely.',
    requestBody: creationBody(animals, {
      status: { summary: 'With a status', value: NEW_REX },
      plain: { summary: 'Without a status', value: NEW_TOM },
    }),
    responses: creationResponses(animals, 'pets', { rex: { summary: 'The new animal', value: REX } }),
  },
}

/** When getPet is removed (specification §4.3). */
export const SUNSET_AT = new Date('2030-12-05T00:00:00Z')
const SUNSET_DATE = SUNSET_AT.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
/** The values of Sunset (RFC 8594), and of Deprecation (RFC 9745): since version 1.0.0 of the REST API. */
const SUNSET = SUNSET_AT.toUTCString()
const DEPRECATION = `@${Date.parse('2025-12-05T00:00:00Z') / 1000}`

/** The list is the replacement that the specification names; only GraphQL returns one animal by its id. */
const REPLACEMENT =
  'For one animal use the GraphQL query `pet(id:)` at /graphql, for lists GET /v1/pets with a status filter.'

const getHeaders = {
  ETag: ETAG,
  Deprecation: header('Since when the operation is deprecated (RFC 9745).', DEPRECATION, '^@\\d+$'),
  Sunset: header('When the operation will be removed (RFC 8594).', SUNSET),
  Link: header('The `successor-version` (RFC 5829).', '</v1/pets>; rel="successor-version"'),
}

/** The deprecated operation: it responds 410 from the sunset date on (specification §4.3). */
const getPet: Operation = {
  method: 'get',
  path: '/pets/{petId}',
  scope: animals.scopes.read,
  parameters: {
    path: z.object({ petId: Int64.meta({ description: 'Identifier of the animal.', example: REX.id }) }),
    header: ConditionalHeaders,
  },
  errors: ['INVALID_ARGUMENT', 'NOT_FOUND', 'GONE'],
  toHeaders: (base) => ({ Deprecation: DEPRECATION, Sunset: SUNSET, Link: `<${base}pets>; rel="successor-version"` }),
  createHandler(dependencies, base) {
    const { now, observe } = dependencies
    const respond = handleGet(animals, 'petId')(dependencies, base)
    return async (req, res) => {
      if (now() >= SUNSET_AT) {
        throw new ApiError('GONE', `This operation was removed on ${SUNSET_DATE}. ${REPLACEMENT}`)
      }
      // A metric of these calls shows operators which clients must migrate before the sunset date.
      observe({ type: 'deprecated-call', keyPrefix: callerOf(req).keyPrefix })
      await respond(req, res)
    }
  },
  document: {
    operationId: 'getPet',
    summary: 'Get an animal',
    description: `Available until ${SUNSET_DATE}; responds 410 afterwards. ${REPLACEMENT}`,
    deprecated: true,
    responses: readResponses('animal', getHeaders, Animal, { rex: { summary: 'An animal', value: REX } }),
  },
}

export const petsApi: RestApi = {
  operations: [listPets, createPet, getPet],
  tag: { name: 'pets', description: 'Animals offered in the store.' },
  schemas: [Animal, NewPet, PetStatus, Pets],
}
