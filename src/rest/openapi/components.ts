import { z } from 'zod'
import { Int64, PetStatus } from '../../animals/animal.ts'

/** An OpenAPI document or a part of it: JSON. */
export type Json = { [member: string]: unknown }

export const errorSchema = {
  type: 'object',
  description: 'Every error has this body.',
  required: ['code', 'message', 'status'],
  properties: {
    code: {
      type: 'string',
      description: 'Machine-readable; never changes its meaning. New codes may come.',
      pattern: '^[A-Z_]+$',
      maxLength: 64,
      examples: ['INVALID_ARGUMENT'],
    },
    message: {
      type: 'string',
      description: 'For people. Its words may change.',
      pattern: '\\S',
      maxLength: 2000,
      examples: ['name: must be a string'],
    },
    status: {
      type: 'integer',
      format: 'int32',
      description: 'The HTTP status.',
      minimum: 400,
      maximum: 599,
      examples: [400],
    },
  },
}

export function json(schema: string, examples: Json): Json {
  return { 'application/json': { schema: ref('schemas', schema), examples } }
}

export function ref(kind: string, name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}

/** A zod schema as JSON Schema: what comes in; int64 by name, since bounds near 2^63 do not survive a double. */
export function toSchema(schema: z.ZodType, description?: string): Json {
  const { $schema: _dialect, ...result } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema, path }) {
      // `.meta` makes a copy, so a schema is known by its definition.
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
