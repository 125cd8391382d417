import type { Request, Response } from 'express'
import type { DocumentNode, ExecutionArgs, ExecutionResult, OperationDefinitionNode } from 'graphql'
import type { GraphQLParams, Plugin as YogaPlugin } from 'graphql-yoga'
import type { RateLimiter } from '../auth/rate-limit.ts'
import type { ResourceServices } from '../resource-services.ts'
import type { KeptBytes } from '../http/kept-bytes.ts'
import type { Turns } from '../http/turns.ts'
import type { Limits } from '../config/limits.ts'
import type { Observe } from '../telemetry/observation.ts'
import type { GraphQLContext } from './schema/builder.ts'
import type { Streams } from './subscription/streams.ts'
import type { Transport } from './subscription/transports.ts'

/** Operations that are identified by the SHA-256 of their text. */
export interface TrustedDocuments {
  /** `allow` accepts hashes and documents, `only` accepts hashes of trusted documents only. */
  mode: 'allow' | 'only'
  /** Texts by their SHA-256 in hexadecimal. */
  byHash: ReadonlyMap<string, string>
}

export interface GraphQLDependencies {
  services: Pick<ResourceServices, 'of'>
  streams: Streams
  keptBytes: KeptBytes
  turns: Turns
  limits: Pick<Limits, 'writeTimeoutMs'>
  trusted?: TrustedDocuments | undefined
  /** The rate limiter of clients. The first point of the request was consumed before the GraphQL route. */
  clientLimiter?: RateLimiter | undefined
  /** Plugins of Yoga or envelop, which run after the service's own. Yoga takes them of any type. */
  plugins?: object[] | undefined
  observe: Observe
}

export interface SharedOutcome {
  result: ExecutionResult
  /** `data` as JSON, formatted only when it is sent, because the texts of a whole batch would take memory at once. */
  dataJson(): string
  /** How long the execution waited for the database, in milliseconds. */
  databaseMs: number
}

/** A subscription that has begun. */
export interface Subscription {
  stream: ReturnType<Streams['open']>
  transport: Transport
  /** Waits for events. @returns what is sent of them, and their number */
  nextPart(): Promise<{ data: Buffer; events: number }>
}

/** What the plugins know of a request. Resolvers read only GraphQLContext. */
export interface PipelineContext extends GraphQLContext {
  req: Request
  res: Response
  /** Set by Yoga: the parameters, as the last plugin has set them. */
  params: GraphQLParams
  /** Set by useOperation, right after the document was parsed. */
  operation: OperationDefinitionNode
  /** The coerced variables, set by useCost. `params.variables` are not coerced, and only the declared ones. */
  variables: Record<string, unknown>
  /** The cost of the operation, and the largest one that this caller's operations may have, in points. Set by useCost. */
  cost?: { requested: number; limit: number } | undefined
  /** Set by useSharedExecution. */
  shared?: SharedOutcome
  /** Set by useSubscriptions. */
  subscription?: Subscription
}

/** An operation of a valid document, and its variables: coerced for the executor, as they were sent for GraphQL.js. */
export interface RequestedOperation {
  document: DocumentNode
  operation: OperationDefinitionNode
  variables: Record<string, unknown>
}

/** Whether another plugin has replaced the document or the variables of an execution since the operation was selected. */
export function isReplacedByPlugin(args: ExecutionArgs, { operation, params }: PipelineContext): boolean {
  return args.variableValues !== params.variables || !args.document.definitions.includes(operation)
}

/** A plugin of the pipeline. Every plugin of Yoga or envelop is one. */
export type Plugin = YogaPlugin<PipelineContext, PipelineContext>
