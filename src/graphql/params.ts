import type { Request } from 'express'
import { ApiError } from '../errors.ts'
import { parseJson } from '../http/json.ts'

/** The parameters of a GraphQL over HTTP request: a document or the id of a trusted one, variables, operation name. */
export interface GraphQLParams {
  query?: string
  documentId?: string
  variables?: Record<string, unknown>
  operationName?: string
}

/** The parameters of a GET. @throws ApiError INVALID_ARGUMENT for invalid parameters */
export function paramsFromQuery({
  query,
  documentId,
  variables,
  operationName,
  extensions,
}: Request['query']): GraphQLParams {
  const parseJsonParam = (name: string, text: unknown): unknown => {
    if (text === undefined || text === '') return undefined
    try {
      if (typeof text === 'string') return parseJson(text)
    } catch {
      // rejected below
    }
    throw new ApiError('INVALID_ARGUMENT', `${name}: must be a JSON object`)
  }
  return paramsFromBody({
    query,
    documentId,
    operationName: operationName === '' ? undefined : operationName,
    variables: parseJsonParam('variables', variables),
    extensions: parseJsonParam('extensions', extensions),
  })
}

/** The parameters of a POST. @throws ApiError INVALID_ARGUMENT for a body that is not a GraphQL request */
export function paramsFromBody(body: unknown): GraphQLParams {
  if (!isMap(body)) throw new ApiError('INVALID_ARGUMENT', 'The body must be a JSON object.')
  const { query, variables, operationName, extensions } = body
  // Apollo's and urql's persisted queries put the hash into the extensions.
  const documentId =
    body.documentId ??
    (isMap(extensions) && isMap(extensions.persistedQuery) ? extensions.persistedQuery.sha256Hash : undefined)
  if (query != null ? typeof query !== 'string' : documentId == null) {
    throw new ApiError('INVALID_ARGUMENT', 'query: must be a string')
  }
  if (documentId != null && typeof documentId !== 'string') {
    throw new ApiError('INVALID_ARGUMENT', 'documentId: must be a string')
  }
  if (variables != null && !isMap(variables)) throw new ApiError('INVALID_ARGUMENT', 'variables: must be an object')
  if (operationName != null && typeof operationName !== 'string') {
    throw new ApiError('INVALID_ARGUMENT', 'operationName: must be a string')
  }
  if (extensions != null && !isMap(extensions)) throw new ApiError('INVALID_ARGUMENT', 'extensions: must be an object')
  return {
    ...(typeof query === 'string' && { query }),
    ...(documentId != null && { documentId }),
    ...(variables && { variables }),
    ...(operationName != null && { operationName }),
  }
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
