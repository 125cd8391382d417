import { z } from 'zod'
import { PetStatus, toCursor } from '../../pets/animal.ts'
import { Int64 } from '../../store/contract.ts'

export type Json = { [member: string]: unknown }

/** The body of every error (specification §7). */
export const ErrorBody = z.object({
  code: z
    .string()
    .max(64)
    .regex(/^[A-Z_]+$/)
    .meta({
      description: 'Machine-readable. The meaning of a code never changes; new codes may be added.',
      examples: ['INVALID_ARGUMENT'],
    }),
  message: z
    .string()
    .max(2000)
    .regex(/\S/)
    .meta({ description: 'Human-readable. The wording may change.', examples: ['name: must be a string'] }),
  status: z
    .int()
    .min(400)
    .max(599)
    .meta({ description: 'The HTTP status.', format: 'int32', examples: [400] }),
})

/** A cursor with the example of PetStatus as its filter, so that all examples of listPets work together. */
export const CURSOR_EXAMPLE = toCursor(42n, 'available')
const ETAG_EXAMPLE = '"PZ2xM0kWq8Yt1nQd7vRb4c"'
export const ETAG = header('Changes when the body does; for `If-None-Match`.', ETAG_EXAMPLE, '^"[A-Za-z0-9_-]+"$')
export const NEW_REX = { name: 'Rex', categoryId: 7, status: 'available' }
export const NEW_TOM = { name: 'Tom', categoryId: 7 }
export const REX = { id: 42, ...NEW_REX }
export const TOM = { id: 41, ...NEW_TOM }

export const ConditionalHeaders = z.object({
  'If-None-Match': z
    .string()
    .max(1024)
    .regex(/^.+$/)
    .optional()
    .meta({
      description: "The `ETag` of the client's copy: 304 without a body while it has not changed (RFC 9110 §13.1.2).",
      examples: [ETAG_EXAMPLE],
    }),
})

export function json(schema: string, examples: Json): Json {
  return { 'application/json': { schema: ref('schemas', schema), examples } }
}

/** A header of a success, which every one that documents it has. */
export function header(description: string, example: string, pattern = '^.+$') {
  return { description, required: true, schema: { type: 'string', pattern, maxLength: 2048 }, example }
}

export function ref(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}

/** The parameters of an operation, as the zod schemas of each place say. */
export function toParameters(places: { [place: string]: z.ZodObject }): Json[] {
  return Object.entries(places).flatMap(([place, schema]) => {
    // The output: in the request itself each parameter is text.
    const { properties } = toSchema(schema, undefined, 'output') as { properties: Record<string, Json> } // an object's
    return Object.entries(properties).map(([name, { description, example, ...rest }]) => {
      const parameter = { name, in: place, description, schema: rest }
      return { ...parameter, ...(place === 'path' && { required: true }), ...(example !== undefined && { example }) }
    })
  })
}

/** A zod schema as JSON Schema. int64 is a format, because JSON tools round bounds near 2^63. */
export function toSchema(schema: z.ZodType, description?: string, io: 'input' | 'output' = 'input'): Json {
  const { $schema: _dialect, ...result } = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema, path }) {
      // `.meta` returns a copy with the same definition.
      if (zodSchema._zod.def === Int64._zod.def) {
        delete jsonSchema.anyOf
        Object.assign(jsonSchema, { type: 'integer', format: 'int64' })
      }
      if (path.length && zodSchema._zod.def === PetStatus._zod.def) {
        for (const member of Object.keys(jsonSchema)) delete jsonSchema[member]
        jsonSchema.$ref = '#/components/schemas/PetStatus'
      }
    },
  })
  return { ...(description && { description }), ...result }
}
