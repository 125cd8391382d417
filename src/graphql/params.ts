import type { Request } from 'express'
import { z } from 'zod'
import { ApiError } from '../errors.ts'
import { parseJson } from '../http/json.ts'

/** Null counts as absent. */
const text = z
  .string('must be a string')
  .nullish()
  .transform((value) => value ?? undefined)
/** The object itself: a copy would lose a variable named `__proto__`. */
const map = z
  .custom<Record<string, unknown>>(isMap, 'must be an object')
  .nullish()
  .transform((value) => value ?? undefined)
/** Apollo's and urql's persisted queries put the hash here. */
const extensions = z
  .object({ persistedQuery: z.object({ sha256Hash: text }, 'must be an object').nullish() }, 'must be an object')
  .nullish()

/** The parameters of a GraphQL over HTTP request: a document or the id of a trusted one, variables, operation name. */
const Params = z
  .object(
    { query: text, documentId: text, variables: map, operationName: text, extensions },
    'The body must be a JSON object.',
  )
  .transform(({ extensions, documentId = extensions?.persistedQuery?.sha256Hash, ...params }) => ({
    ...params,
    documentId,
  }))
  .refine(({ query, documentId }) => (query ?? documentId) !== undefined, {
    path: ['query'],
    error: 'must be a string',
  })
export type GraphQLParams = z.infer<typeof Params>

/** The parameters of a GET. @throws ZodError, ApiError INVALID_ARGUMENT for invalid parameters */
export function paramsFromQuery({ variables, operationName, extensions, ...params }: Request['query']): GraphQLParams {
  return paramsFromBody({
    ...params,
    operationName: operationName === '' ? undefined : operationName,
    variables: parseParameter('variables', variables),
    extensions: parseParameter('extensions', extensions),
  })
}

/** The parameters of a POST. @throws ZodError for a body that is not a GraphQL request */
export function paramsFromBody(body: unknown): GraphQLParams {
  return Params.parse(body)
}

function parseParameter(name: string, json: unknown): unknown {
  if (json === undefined || json === '') return undefined
  try {
    if (typeof json === 'string') return parseJson(json)
  } catch {
    // rejected below
  }
  throw new ApiError('INVALID_ARGUMENT', `${name}: must be a JSON object`)
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
