import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { openapi } from '../../src/rest/openapi/document.ts'

export const document = openapi('1.0.0', [{ url: '/v1', description: 'This server (production, staging or local)' }])

interface Header {
  required?: boolean
  schema: { type: string }
}
interface Parameter {
  name: string
  in: 'query' | 'header' | 'path'
  schema: { $ref: string } | { examples?: unknown[]; default?: unknown }
  /** Swagger UI fills it in, other than those of the schema. */
  example?: unknown
}
interface Operation {
  operationId: string
  parameters: Parameter[]
  requestBody?: { content: { 'application/json': { examples: Record<string, { summary: string; value?: unknown }> } } }
  responses: Record<
    string,
    { headers: Record<string, Header | { $ref: string }>; content?: Record<string, { schema: { $ref: string } }> }
  >
}
export const paths = document['paths'] as Record<string, Record<string, Operation>>
const components = document['components'] as {
  headers: Record<string, Header>
  schemas: Record<string, { examples?: unknown[]; default?: unknown }>
}

function resolve<T extends object>(part: T | { $ref: string }, of: Record<string, T>): T {
  const found = '$ref' in part ? of[part.$ref.split('/').at(-1) ?? ''] : part
  if (!found) throw new Error(`${JSON.stringify(part)} leads nowhere`)
  return found
}

/** The example of a parameter, as text; its default where it has no example. */
export function exampleOf({ name, schema, example }: Parameter): string {
  const { examples: [first] = [], default: byDefault } = resolve(schema, components.schemas)
  const value = example ?? first ?? byDefault
  if (value === undefined) throw new Error(`${name} has no example`)
  return String(value)
}

/** Headers that HTTP itself brings along; everything else has to be documented. */
const transport = new Set(['date', 'connection', 'keep-alive', 'content-type', 'content-length', 'transfer-encoding'])

const ajv = new Ajv2020({ strict: false, formats: { int32: true, int64: Number.isInteger } })
const validators = new Map<string, ValidateFunction>()

/** A validator of a schema of the document, under which an object may have no member that is not documented. */
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
 * Holds a response of the REST API against the OpenAPI document: its status, its headers, its body.
 * @returns how it differs, nothing when it is as documented
 */
export function deviations(method: string, path: string, response: Response, body: string): string[] {
  const template = /^\/v1\/pets(\?|$)/.test(path)
    ? '/pets'
    : /^\/v1\/pets\/[^/?]+(\?|$)/.test(path)
      ? '/pets/{petId}'
      : ''
  const operation = paths[template]?.[(method === 'HEAD' ? 'GET' : method).toLowerCase()]
  if (!operation) return []
  const place = `${method} ${template} ${response.status}`
  const described = operation.responses[response.status]
  if (!described) return [`${place}: not documented`]

  const found: string[] = []
  for (const problem of headerDeviations(described.headers, response.headers)) found.push(`${place}: ${problem}`)
  const content = described.content?.['application/json']
  if (!content || method === 'HEAD') return body ? [...found, `${place}: a body where none is documented`] : found
  if (!response.headers.get('content-type')?.startsWith('application/json')) found.push(`${place}: no application/json`)
  const validate = validatorOf(content.schema.$ref.split('/').at(-1) ?? '')
  if (!validate(JSON.parse(body))) found.push(`${place}: ${ajv.errorsText(validate.errors)}`)
  return found
}

/** Headers that are not documented or not as documented, and required ones that are missing. */
function headerDeviations(documented: Operation['responses'][string]['headers'], received: Headers): string[] {
  const known = new Set([...transport, ...Object.keys(documented).map((name) => name.toLowerCase())])
  const undocumented = [...received.keys()].filter((name) => !known.has(name))
  const wrong = Object.entries(documented).flatMap(([name, header]) => {
    const { required, schema } = resolve(header, components.headers)
    const value = received.get(name)
    if (value === null) return required ? [`required header ${name} is missing`] : []
    const valid = ajv.validate(schema, schema.type === 'integer' ? Number(value) : value)
    return valid ? [] : [`header ${name}: ${ajv.errorsText()}`]
  })
  return [...undocumented.map((name) => `header ${name} is not documented`), ...wrong]
}
