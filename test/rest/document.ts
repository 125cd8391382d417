import { fullFormats } from 'ajv-formats/dist/formats.js'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { createRouteOf } from '../../src/http/route-templates.ts'
import { RESOURCES } from '../../src/resources.ts'
import { openapi } from '../../src/rest/openapi/document.ts'

export const document = openapi(
  RESOURCES.map(({ rest }) => rest),
  {},
)

interface Header {
  required?: boolean
  schema: { pattern: string }
}
export interface Schema {
  $ref?: string
  type?: string
  enum?: string[]
  format?: string
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  required?: string[]
  properties?: Record<string, Schema>
  examples?: unknown[]
  default?: unknown
}
export interface Parameter {
  name: string
  in: 'query' | 'header' | 'path'
  schema: Schema
  /** Swagger UI prefills this value, but not the examples of the schema. */
  example?: unknown
}
interface Operation {
  operationId: string
  deprecated?: true
  parameters: Parameter[]
  requestBody?: {
    content: { 'application/json': { schema: Schema; examples: Record<string, { summary: string; value?: unknown }> } }
  }
  responses: Record<
    string,
    { description: string; headers?: Record<string, Header>; content?: Record<string, { schema: { $ref: string } }> }
  >
}
export const paths = document['paths'] as Record<string, Record<string, Operation>>
const { schemas } = document['components'] as { schemas: Record<string, Schema> }

/** @returns the schema to which a reference refers */
export function resolve(schema: Schema): Schema {
  if (!schema.$ref) return schema
  const found = schemas[schema.$ref.split('/').at(-1) ?? '']
  if (!found) throw new Error(`Unresolved reference: ${schema.$ref}`)
  return found
}

const routeOf = createRouteOf(Object.keys(paths))

/** @returns the example of a parameter as text, or its default */
export function exampleOf({ name, schema, example }: Parameter): string {
  const { examples: [first] = [], default: defaultValue } = resolve(schema)
  const value = example ?? first ?? defaultValue
  if (value === undefined) throw new Error(`${name} has no example`)
  return String(value)
}

/** Headers of HTTP and of the CORS protocol itself. All others must be promised. */
const TRANSPORT_HEADERS = [
  ...['date', 'connection', 'keep-alive', 'content-type', 'content-length', 'transfer-encoding', 'vary'],
  ...['access-control-allow-origin', 'access-control-expose-headers'],
]

const text = (pattern: string, required = true): Header => ({ required, schema: { pattern } })

/** The headers that docs/rest-api.md promises for every operation. */
function commonHeaders(method: string, status: number): Record<string, Header> {
  const isBeforeRateLimit = [401, 417, 431].includes(status) || (status === 408 && method !== 'POST')
  return {
    'X-Request-Id': text('^[\\w.:-]{1,128}$'),
    'X-Content-Type-Options': text('^nosniff$'),
    'Cache-Control': text(status < 400 && method !== 'POST' ? '^private, no-cache$' : '^no-store$'),
    ...([401, 403].includes(status) && { 'WWW-Authenticate': text('^Bearer realm="petstore"') }),
    ...([409, 429, 503].includes(status) && { 'Retry-After': text('^\\d{1,5}$') }),
    ...(status === 415 && { 'Accept-Post': text('^application/json$'), 'Accept-Encoding': text('^identity$', false) }),
    ...(!isBeforeRateLimit && { RateLimit: text('^"', false), 'RateLimit-Policy': text('^"', false) }),
  }
}

/** The headers of every response of a deprecated operation, unless it is sent before the application sees the request. */
function deprecationHeaders({ deprecated, responses }: Operation, status: number): Record<string, Header> {
  if (!deprecated || [408, 431].includes(status)) return {}
  const { ETag: _, ...headers } = responses[200]?.headers ?? {}
  if (status !== 400) return headers
  return Object.fromEntries(Object.entries(headers).map(([name, header]) => [name, { ...header, required: false }]))
}

export const ajv = new Ajv2020({
  strict: false,
  formats: { int32: true, int64: Number.isInteger, date: fullFormats.date, 'date-time': fullFormats['date-time'] },
})
/** The document, but without undocumented members. */
const strict = structuredClone({ $id: 'strict', components: document['components'] }) as {
  components: { schemas: Record<string, object> }
}
for (const schema of Object.values(strict.components.schemas)) {
  if ('properties' in schema) Object.assign(schema, { additionalProperties: false })
}
ajv.addSchema(strict)

/**
 * Compares a REST response with the OpenAPI document, and its headers also with the promises of docs/rest-api.md.
 * @returns the deviations, empty if the response conforms
 */
export function deviations(method: string, path: string, response: Response, body: string): string[] {
  const template = routeOf(path.replace(/^\/v1|\?.*/g, ''))
  const operation = paths[template]?.[(method === 'HEAD' ? 'GET' : method).toLowerCase()]
  if (!operation) return []
  const label = `${method} ${template} ${response.status}`
  const { default: other } = operation.responses
  const documented = operation.responses[response.status] ?? other
  if (!documented || (documented === other && !other.description.includes(String(response.status)))) {
    return [`${label}: not documented`]
  }

  const problems: string[] = []
  const { status } = response
  const headers = { ...commonHeaders(method, status), ...deprecationHeaders(operation, status), ...documented.headers }
  for (const problem of headerDeviations(headers, response.headers)) problems.push(`${label}: ${problem}`)
  const content = documented.content?.['application/json']
  if (!content || method === 'HEAD') return body ? [...problems, `${label}: an undocumented body`] : problems
  if (!response.headers.get('content-type')?.startsWith('application/json'))
    problems.push(`${label}: Content-Type is not application/json`)
  if (!ajv.validate(`strict${content.schema.$ref}`, JSON.parse(body))) problems.push(`${label}: ${ajv.errorsText()}`)
  return problems
}

/** @returns undocumented and invalid headers, and required headers that are missing */
function headerDeviations(documented: Record<string, Header>, received: Headers): string[] {
  const documentedNames = new Set([...TRANSPORT_HEADERS, ...Object.keys(documented).map((name) => name.toLowerCase())])
  const undocumented = [...received.keys()].filter((name) => !documentedNames.has(name))
  const invalid = Object.entries(documented).flatMap(([name, { required, schema }]) => {
    const value = received.get(name)
    if (value === null) return required ? [`required header ${name} is missing`] : []
    return new RegExp(schema.pattern).test(value) ? [] : [`header ${name} is ${value}`]
  })
  return [...undocumented.map((name) => `header ${name} is not documented`), ...invalid]
}
