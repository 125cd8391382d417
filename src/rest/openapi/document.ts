import { z } from 'zod'
import { type ErrorCode, ERRORS } from '../../errors.ts'
import { SUMMARY, TITLE, WEBSITE } from '../../project.ts'
import type { Operation, PublicConfig, RestApi } from '../operation.ts'
import { ErrorBody, jsonContent, type Json, toParameters, toSchema } from './components.ts'

/** Version of the interface (specification §9), which differs from that of the service. */
const INTERFACE_VERSION = '1.0.0'

/** The REST API as OpenAPI 3.1. Its schemas are generated from the zod schemas that validate requests. */
export function openapi(apis: RestApi[], { PRODUCTION_URL, STAGING_URL, OIDC_ISSUER }: PublicConfig): Json {
  const servers = [
    // This server is first, because "Try it out" sends requests to the first one. Its URL is relative to that of the document,
    // since a proxy may strip a path prefix from requests.
    { url: 'v1', description: 'This server (production, staging or local)' },
    { url: PRODUCTION_URL, description: 'Production' },
    { url: STAGING_URL, description: 'Staging' },
  ].filter(({ url }) => url)
  return {
    openapi: '3.1.0',
    info: {
      title: TITLE,
      version: INTERFACE_VERSION,
      summary: SUMMARY,
      description: INTRODUCTION,
      contact: { name: TITLE, url: WEBSITE },
      license: { name: 'Proprietary', identifier: 'LicenseRef-Proprietary' },
    },
    // An OWASP rule of Spectral asks each server for its intended audience (`npm run clients`).
    servers: servers.map((server) => ({ ...server, 'x-internal': false })),
    security: [{ apiKey: [] }],
    tags: apis.map(({ tag }) => tag),
    paths: toPaths(apis.flatMap(({ operations }) => operations)),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'The API key alone; it is sent as `Authorization: Bearer <API_KEY>`.' +
            (OIDC_ISSUER ? ` An access token (RFC 9068) of ${OIDC_ISSUER} is accepted as well.` : ''),
        },
      },
      schemas: toSchema(z.union([...apis.flatMap(({ schemas }) => schemas), ErrorBody])).$defs,
    },
  }
}

function toPaths(operations: Operation[]): Json {
  const paths: Record<string, Json> = {}
  for (const { path, method, parameters, errors, document } of operations) {
    const responses = { ...document.responses, ...toErrorResponses(errors) }
    const tags = [path.split('/')[1]]
    paths[path] = { ...paths[path], [method]: { tags, ...document, parameters: toParameters(parameters), responses } }
  }
  return paths
}

/** The error responses of an operation by status: 401, its own errors, and `default` for what any operation may have. */
function toErrorResponses(errors: ErrorCode[]): Json {
  const own = ['UNAUTHENTICATED' as const, ...errors].map((code) => [ERRORS[code].status, toResponse(code)])
  const others = 'Any other error: 403, 408, 417, 429, 431, 500 or 503; `code` says which.'
  return { ...Object.fromEntries(own), default: { ...toResponse('UNAVAILABLE'), description: others } }
}

function toResponse(code: ErrorCode): Json {
  const { status, description } = ERRORS[code]
  const value = { code, message: description, status }
  return { description, content: jsonContent(ErrorBody, { error: { summary: code, value } }) }
}

const INTRODUCTION = `Every request needs an API key or an access token.

**Errors** are \`{"code","message","status"}\`; \`status\` repeats the HTTP status. Switch on \`code\`. \`503\`: the
request was not executed; retry after \`Retry-After\` seconds. \`504\`: the outcome of the write is unknown; retry with
the same \`Idempotency-Key\`. Every response has \`X-Request-Id\`: quote it in support requests.

**Conditional requests**: send the \`ETag\` of a read in \`If-None-Match\` to get \`304\` without a body while it has not
changed. \`If-Match\` is ignored on reads, where only range requests use it (RFC 9110 §13.1.1), which this API does not
support.

**Integers** marked int64 use all 64 bits: read them into a type that holds 64 bits, not into a double.`
