import type { Request, Response } from 'express'
import type { z } from 'zod'
import type { Config } from '../config/config.ts'
import type { ErrorCode } from '../errors.ts'
import type { ResourceServices } from '../resource-services.ts'
import type { Turns } from '../http/turns.ts'
import type { KeptBytes } from '../http/kept-bytes.ts'
import type { Observe } from '../telemetry/observation.ts'
import type { Json } from './openapi/components.ts'

export interface OperationDependencies {
  keptBytes: KeptBytes
  services: Pick<ResourceServices, 'of'>
  turns: Turns
  now(): Date
  observe: Observe
}

export interface RestApi {
  /** A fixed path must stand before a path with a parameter that would match the fixed path as well. */
  operations: Operation[]
  /** The tag of these operations in the OpenAPI document. Its name is the first segment of their paths. */
  tag: { name: string; description: string }
  /** The schemas to which the document refers: each has an `id` in its metadata. */
  schemas: z.ZodType[]
}

/** An operation of the REST API. Its route, its authorization and its part of the OpenAPI document follow from this. */
export interface Operation {
  method: 'get' | 'post'
  /** Below `/v1`, with parameters in braces. */
  path: string
  scope: string
  parameters: { path?: z.ZodObject; query?: z.ZodObject; header?: z.ZodObject }
  /** The codes of its own errors, beside those that any operation may have. */
  errors: ErrorCode[]
  /** The headers of every response of its route, whatever the status. A deprecated operation announces its end in them. */
  toHeaders?(base: string): Record<string, string>
  document: {
    operationId: string
    summary: string
    description: string
    deprecated?: true
    /** Only an operation with this member receives a body, and has the JSON of the body in `req.body`. */
    requestBody?: Json
    responses: Json
  }
  createHandler: HandlerFactory
}

/** @param base how a reference to a path below `/v1` begins */
export type HandlerFactory = (
  dependencies: OperationDependencies,
  base: string,
) => (req: Request, res: Response) => Promise<void>

/** What the OpenAPI document and links in responses show of the configuration. */
export type PublicConfig = Pick<Config, 'PRODUCTION_URL' | 'STAGING_URL' | 'OIDC_ISSUER'>
