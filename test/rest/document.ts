import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { createRouteOf } from '../../src/http/router.ts'
import { openapi } from '../../src/rest/openapi/document.ts'

export const document = openapi({})

interface Header {
  required?: boolean
  schema: { type: string }
}
export interface Schema {
  $ref?: string
  type?: string
  enum?: string[]
  format?: string
  pattern?: string
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
  parameters: Parameter[]
  requestBody?: {
    content: { 'application/json': { schema: Schema; examples: Record<string, { summary: string; value?: unknown }> } }
  }
  responses: Record<
    string,
    { headers: Record<string, Header | { $ref: string }>; content?: Record<string, { schema: { $ref: string } }> }
  >
}
export const paths = document['paths'] as Record<string, Record<string, Operation>>
const components = document['components'] as { headers: Record<string, Header>; schemas: Record<string, Schema> }

/** @returns the schema to which a reference refers */
export const resolve = (schema: Schema): Schema => (schema.$ref ? find(components.schemas, schema.$ref) : schema)

function find<T>(components: Record<string, T>, reference: string): T {
  const found = components[reference.split('/').at(-1) ?? '']
  if (!found) throw new Error(`Unresolved reference: ${reference}`)
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

/** Headers of HTTP and of the CORS protocol itself. All others must be documented. */
const TRANSPORT_HEADERS = [
  ...['date', 'connection', 'keep-alive', 'content-type', 'content-length', 'transfer-encoding', 'vary'],
  ...['access-control-allow-origin', 'access-control-expose-headers'],
]

const ajv = new Ajv2020({ strict: false, formats: { int32: true, int64: Number.isInteger } })
const validators = new Map<string, ValidateFunction>()

/** @returns a validator of a schema of the document, which rejects undocumented members */
export function validatorOf(name: string): ValidateFunction {
  let validate = validators.get(name)
  if (!validate) {
    const components = structuredClone(document['components']) as { schemas: Record<string, { properties?: object }> }
    for (const schema of Object.values(components.schemas)) {
      if (schema.properties) Object.assign(schema, { additionalProperties: false })
    }
    validate = ajv.compile({ $ref: `#/components/schemas/${name}`, components })
    validators.set(name, validate)
  }
  return validate
}

/**
 * Compares the status, the headers and the body of a REST response with the OpenAPI document.
 * @returns the deviations, empty if the response conforms
 */
export function deviations(method: string, path: string, response: Response, body: string): string[] {
  const template = routeOf(path.replace(/^\/v1|\?.*/g, ''))
  const operation = paths[template]?.[(method === 'HEAD' ? 'GET' : method).toLowerCase()]
  if (!operation) return []
  const label = `${method} ${template} ${response.status}`
  const documented = operation.responses[response.status]
  if (!documented) return [`${label}: not documented`]

  const problems: string[] = []
  for (const problem of headerDeviations(documented.headers, response.headers)) problems.push(`${label}: ${problem}`)
  const content = documented.content?.['application/json']
  if (!content || method === 'HEAD') return body ? [...problems, `${label}: an undocumented body`] : problems
  if (!response.headers.get('content-type')?.startsWith('application/json'))
    problems.push(`${label}: Content-Type is not application/json`)
  const validate = validatorOf(content.schema.$ref.split('/').at(-1) ?? '')
  if (!validate(JSON.parse(body))) problems.push(`${label}: ${ajv.errorsText(validate.errors)}`)
  return problems
}

/** @returns undocumented and invalid headers, and required headers that are missing */
function headerDeviations(documented: Operation['responses'][string]['headers'], received: Headers): string[] {
  const documentedNames = new Set([...TRANSPORT_HEADERS, ...Object.keys(documented).map((name) => name.toLowerCase())])
  const undocumented = [...received.keys()].filter((name) => !documentedNames.has(name))
  const invalid = Object.entries(documented).flatMap(([name, header]) => {
    const { required, schema } = '$ref' in header ? find(components.headers, header.$ref) : header
    const value = received.get(name)
    if (value === null) return required ? [`required header ${name} is missing`] : []
    const valid = ajv.validate(schema, schema.type === 'integer' ? Number(value) : value)
    return valid ? [] : [`header ${name}: ${ajv.errorsText()}`]
  })
  return [...undocumented.map((name) => `header ${name} is not documented`), ...invalid]
}
