import type { Request, Response } from 'express'
import type { DocumentNode, OperationDefinitionNode } from 'graphql'
import type { GraphQLParams, Plugin as YogaPlugin } from 'graphql-yoga'
import type { GraphQLContext } from './schema/builder.ts'
import type { SharedOutcome } from './shared-execution.ts'
import type { Subscription } from './subscription/subscribe.ts'

/** What the plugins know of a request. What resolvers read is GraphQLContext. */
export interface PipelineContext extends GraphQLContext {
  req: Request
  res: Response
  /** The parameters with the text of the document; set by useTrustedDocuments. */
  resolved?: GraphQLParams
  /** Set by useOperation, which runs before all that follows the parser. */
  operation?: OperationDefinitionNode
  /** In points; the limit is the largest cost that this caller's operations may have. Set by useCost. */
  cost?: { requested: number; limit: number } | undefined
  /** Set by useSharedExecution. */
  shared?: SharedOutcome
  /** Set by useSubscriptions. */
  subscription?: Subscription
}

/** An operation of a valid document, and its coerced variables. */
export interface CoercedOperation {
  document: DocumentNode
  operation: OperationDefinitionNode
  coerced: Record<string, unknown>
}

/** A plugin of the pipeline: any of Yoga's or envelop's is one, too. */
export type Plugin = YogaPlugin<PipelineContext, PipelineContext>

/** The operation of a request that was parsed. */
export function operationOf({ operation }: PipelineContext): OperationDefinitionNode {
  if (!operation) throw new Error('operationOf needs useOperation before it')
  return operation
}
