import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { openapi } from '../../src/rest/openapi.ts'

export const document = openapi('1.0.0', [
  { url: '/v1', description: 'This server, be it production, staging or local' },
])

interface Operation {
  responses: Record<
    string,
    { headers?: Record<string, object>; content?: Record<string, { schema: { $ref: string } }> }
  >
}
const paths = document['paths'] as Record<string, Record<string, Operation>>

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
 * Holds an answer of the REST face against the OpenAPI document: its status, its headers, its body.
 * @returns what is wrong, empty when the document foretells the answer
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
  const known = new Set(Object.keys(described.headers ?? {}).map((header) => header.toLowerCase()))
  for (const header of response.headers.keys()) {
    if (!known.has(header) && !transport.has(header)) found.push(`${place}: header ${header} is not documented`)
  }
  const content = described.content?.['application/json']
  if (!content || method === 'HEAD') return body ? [...found, `${place}: a body where none is documented`] : found
  if (!response.headers.get('content-type')?.startsWith('application/json')) found.push(`${place}: no application/json`)
  const validate = validatorOf(content.schema.$ref.split('/').at(-1) ?? '')
  if (!validate(JSON.parse(body))) found.push(`${place}: ${ajv.errorsText(validate.errors)}`)
  return found
}
