import { z } from 'zod'
import { MAX_BODY_BYTES } from '../../http/body.ts'
import { isInt64 } from '../../store/types.ts'
import type { Resource } from '../../store/resource.ts'

export type Json = { [member: string]: unknown }

export const ErrorBody = z
  .object({
    code: z.string().meta({
      maxLength: 64,
      pattern: '^[A-Z_]+$',
      description: 'Machine-readable. The meaning of a code never changes; new codes may be added.',
      examples: ['INVALID_ARGUMENT'],
    }),
    message: z.string().meta({
      maxLength: 2000,
      pattern: '\\S',
      description: 'Human-readable. The wording may change.',
      examples: ['name: must be a string'],
    }),
    status: z
      .int()
      .min(400)
      .max(599)
      .meta({ description: 'The HTTP status.', format: 'int32', examples: [400] }),
  })
  .meta({ id: 'Error', description: 'Every error has this body.' })

const ETAG_EXAMPLE = '"PZ2xM0kWq8Yt1nQd7vRb4c"'
export const ETAG = header('Changes when the body does; for `If-None-Match`.', ETAG_EXAMPLE, '^"[A-Za-z0-9_-]+"$')

export const ConditionalHeaders = z.object({
  'If-None-Match': z.optional(z.string()).meta({
    maxLength: 1024,
    pattern: '^.+$',
    description: "The `ETag` of the client's copy: 304 without a body while it has not changed (RFC 9110 §13.1.2).",
    examples: [ETAG_EXAMPLE],
  }),
})

/** @param schema has an `id` in its metadata */
export function jsonContent(schema: z.ZodType, examples: Json): Json {
  const name = schema.meta()?.id
  if (!name) throw new Error('A schema to which the document refers has an id')
  return { 'application/json': { schema: { $ref: `#/components/schemas/${name}` }, examples } }
}

/** A response header. Every success that documents it has it, so it is `required`. */
export function header(description: string, example: string, pattern = '^.+$') {
  return { description, required: true, schema: { type: 'string', pattern, maxLength: 2048 }, example }
}

/** The responses of a read. @param noun what is read */
export function readResponses(noun: string, headers: Json, schema: z.ZodType, examples: Json): Json {
  return {
    200: { description: `The ${noun}.`, headers, content: jsonContent(schema, examples) },
    304: { description: `The ${noun} has not changed.`, headers },
  }
}

/** The responses of a list. @param example a URL, relative to that of the request */
export function listResponses(schema: z.ZodType, example: string, examples: Json): Json {
  const link = header('`next` and `first` (RFC 8288), relative to the URL of the request.', `<${example}>; rel="next"`)
  return readResponses('page', { ETag: ETAG, Link: link }, schema, examples)
}

export function creationBody({ input, noun }: Resource, examples: Json): Json {
  const description = `The ${noun}, at most ${MAX_BODY_BYTES / 1024} KiB.`
  return { required: true, description, content: jsonContent(input, examples) }
}

/** The responses of a creation. @param path below `/v1` */
export function creationResponses({ item, noun }: Resource, path: string, examples: Json): Json {
  const location = `The new ${noun}, relative to the URL of the request.`
  const replayed = header(`An earlier request with the same key added the ${noun}.`, 'true', '^true$')
  return {
    201: {
      description: `The ${noun} was added, by this request or by an earlier one with the same key.`,
      headers: {
        Location: header(location, `/v1/${path}/42`, `^(/v1/)?${path}/\\d+$`),
        'Idempotent-Replayed': { ...replayed, required: false },
      },
      content: jsonContent(item, examples),
    },
  }
}

/** The parameters of an operation. @param places the zod schemas of `path`, `query` and `header` */
export function toParameters(places: { [place: string]: z.ZodObject }): Json[] {
  return Object.entries(places).flatMap(([place, schema]) => {
    // The schema of the output describes the parsed value: in the request itself, each parameter is text.
    const { properties } = toSchema(schema, 'output') as { properties: Record<string, Json> } // each place is an object
    return Object.entries(properties).map(([name, { description, example, ...rest }]) => {
      const parameter = { name, in: place, description, schema: rest }
      // The API reference fills in an `example`, without which it cannot show the curl of a required parameter.
      return { ...parameter, ...(place === 'path' && { required: true }), ...(example !== undefined && { example }) }
    })
  })
}

/**
 * A zod schema as JSON Schema. Schemas with an `id` in their metadata are in `$defs`, and references to them name OpenAPI
 * components. An int64 has a format and no bounds, because JSON tools round bounds near 2^63.
 */
export function toSchema(schema: z.ZodType, io: 'input' | 'output' = 'input'): Json {
  const result = z.toJSONSchema(schema, {
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      if (isInt64(zodSchema)) {
        delete jsonSchema.anyOf
        Object.assign(jsonSchema, { type: 'integer', format: 'int64' })
      }
      delete jsonSchema.id
    },
  })
  return JSON.parse(JSON.stringify(result).replaceAll('#/$defs/', '#/components/schemas/')) as Json // the text of an object
}
