import { Animal, Int64, NewPet, PAGE_SIZE, PageSize, PetStatus } from '../../animals/animal.ts'
import { IDEMPOTENCY_HOURS } from '../../animals/idempotency.ts'
import { errorSchema, json, type Json, ref, toSchema } from './components.ts'
import { CURSOR_EXAMPLE, DEPRECATION_HEADERS, errors, HEADER_COMPONENTS, headers } from './responses.ts'
import type { Environments } from '../references.ts'

export interface ApiServer {
  /** Base address, ending in `/v1`. */
  url: string
  description: string
}

/** This server first, so that "try it" works, then the environments, where there are some. */
export function apiServers({ production, staging }: Environments): ApiServer[] {
  return [
    { url: '/v1', description: 'This server, be it production, staging or local' },
    ...(production ? [{ url: production, description: 'Production' }] : []),
    ...(staging ? [{ url: staging, description: 'Staging' }] : []),
  ]
}

/**
 * The REST contract as OpenAPI 3.1. Schemas come from the zod contract that validates; a test replays every answer of
 * the contract tests against this document.
 */
export function openapi(version: string, servers: ApiServer[]): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Pet store',
      version,
      summary: 'The animals of a pet store',
      description: introduction,
      contact: { name: 'Pet store', url: 'https://petstore.example' },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    servers: servers.map((server) => ({ ...server, 'x-internal': false })),
    security: [{ apiKey: [] }],
    tags: [{ name: 'pets', description: 'Animals offered in the store.' }],
    paths: { '/pets': { get: listPets(), post: createPet() }, '/pets/{petId}': { get: getPet() } },
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description: 'The API key alone; it is sent as `Authorization: Bearer <API_KEY>`.',
        },
      },
      schemas: {
        Animal: toSchema(Animal, 'An animal offered in the store.'),
        NewPet: toSchema(NewPet, 'An animal to add. Unknown members are ignored.'),
        PetStatus: toSchema(PetStatus),
        Pets: { type: 'array', maxItems: 100, description: 'Animals, newest first.', items: ref('schemas', 'Animal') },
        Error: errorSchema,
      },
      headers: HEADER_COMPONENTS,
    },
  }
}

const introduction = `List, add and fetch animals. Every call needs an API key.

**Errors** are \`{"code","message","status"}\`; \`status\` repeats the HTTP status. Switch on \`code\`. After \`503\` nothing
was done: retry in \`Retry-After\` seconds. After \`504\` a write may have been done: retry with the same
\`Idempotency-Key\`.

**Conditional requests**: send the \`ETag\` of a read in \`If-None-Match\` to get \`304\` without a body while nothing
changed. \`If-Match\` is ignored on reads: there it is of use to range requests only (RFC 9110 §13.1.1), which this API
does not have.

**Integers** marked int64 use all 64 bits: read them into a type that holds 64 bits, not into a double.`

const rex = { id: 42, name: 'Rex', categoryId: 7, status: 'available' }
const tom = { id: 41, name: 'Tom', categoryId: 7 }

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of the response that the client has: 304 without a body while nothing changed (RFC 9110).',
  schema: { type: 'string', pattern: '^.+$', maxLength: 1024, examples: [HEADER_COMPONENTS.ETag.example] },
}

const listPets = () => ({
  operationId: 'listPets',
  tags: ['pets'],
  summary: 'List animals',
  description:
    'A page of animals, newest first. Follow the `next` link to walk them all: each that was there at the start is met exactly once, whatever is added meanwhile.',
  parameters: [
    {
      name: 'limit',
      in: 'query',
      description: 'Maximum number of animals to return.',
      schema: { ...toSchema(PageSize), format: 'int32', default: PAGE_SIZE.default },
    },
    {
      name: 'status',
      in: 'query',
      description: 'Filter by status.',
      schema: ref('schemas', 'PetStatus'),
    },
    {
      name: 'cursor',
      in: 'query',
      description: 'Where the page begins: from a `next` link, opaque, valid only with the same `status` filter.',
      schema: { type: 'string', pattern: '^[A-Za-z0-9_-]+$', maxLength: 64, examples: [CURSOR_EXAMPLE] },
    },
    ifNoneMatch,
  ],
  responses: {
    200: {
      description: 'The page.',
      headers: headers('Link', 'ETag'),
      content: json('Pets', {
        animals: { summary: 'Two animals, the second without a status', value: [rex, tom] },
        none: { summary: 'No animal passes the filter', value: [] },
      }),
    },
    304: { description: 'The page is what the client has.', headers: headers('Link', 'ETag') },
    ...errors({ codes: ['INVALID_ARGUMENT'] }),
  },
})

const createPet = () => ({
  operationId: 'createPet',
  tags: ['pets'],
  summary: 'Add an animal',
  description:
    'Adds an animal and returns it with its new id. A 201 response means that the animal is durably stored. With an `Idempotency-Key` the request may be repeated safely.',
  parameters: [
    {
      name: 'Idempotency-Key',
      in: 'header',
      description: `Any text of the client's choice, new for each animal. For ${IDEMPOTENCY_HOURS} hours the same key with the same body answers with the first animal.`,
      schema: {
        type: 'string',
        pattern: '^[!-~]+$',
        minLength: 1,
        maxLength: 255,
        examples: ['8e03978e-40d5-43e8-bc93-6894a57f9324'],
      },
    },
  ],
  requestBody: {
    required: true,
    description: 'The animal, at most 64 KiB.',
    content: json('NewPet', {
      status: { summary: 'With a status', value: { name: 'Rex', categoryId: 7, status: 'available' } },
      plain: { summary: 'Without', value: { name: 'Tom', categoryId: 7 } },
    }),
  },
  responses: {
    201: {
      description: 'The animal was added, or was added before by a request with the same key.',
      headers: headers('Location', 'Idempotent-Replayed'),
      content: json('Animal', { rex: { summary: 'The new animal', value: rex } }),
    },
    ...errors({
      codes: [
        ...(['INVALID_ARGUMENT', 'ABORTED', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const),
        ...(['IDEMPOTENCY_KEY_REUSED', 'DEADLINE_EXCEEDED'] as const),
      ],
      readsBody: true,
    }),
  },
})

const getPet = () => ({
  operationId: 'getPet',
  tags: ['pets'],
  summary: 'Get an animal',
  description: 'Answers until 5 December 2030, 410 from then on. Use `GET /pets` with a `status` filter instead.',
  deprecated: true,
  parameters: [
    {
      name: 'petId',
      in: 'path',
      required: true,
      description: 'Identifier of the animal.',
      schema: toSchema(Int64),
      example: 42,
    },
    ifNoneMatch,
  ],
  responses: {
    200: {
      description: 'The animal.',
      headers: headers('ETag', ...DEPRECATION_HEADERS),
      content: json('Animal', { rex: { summary: 'An animal', value: rex } }),
    },
    304: { description: 'The animal is what the client has.', headers: headers('ETag', ...DEPRECATION_HEADERS) },
    ...errors({ codes: ['INVALID_ARGUMENT', 'NOT_FOUND', 'GONE'], headers: DEPRECATION_HEADERS }),
  },
})
