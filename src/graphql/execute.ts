import type { Request, Response } from 'express'
import type { DocumentNode, OperationDefinitionNode } from 'graphql'
import {
  getOperationAST,
  GraphQLError,
  NoFragmentCyclesRule,
  OperationTypeNode,
  UniqueFragmentNamesRule,
  validate,
} from 'graphql'
import { createCoalescer } from '../coalesce.ts'
import type { Scope } from '../auth/api-keys.ts'
import { requireScope } from '../auth/authenticate.ts'
import { consumeQuota } from '../auth/rate-limit.ts'
import { ApiError, type ErrorCode } from '../errors.ts'
import { callerOf } from '../http/request.ts'
import type { RateLimiter } from '../auth/rate-limiter.ts'
import type { GraphQLContext } from './schema/builder.ts'
import { analyze, type Analysis } from './analysis.ts'
import { type TrustedDocuments, resolveDocument } from './trusted-documents.ts'
import { createEngine, type Engine } from './engine.ts'
import { checkLimits, limitExceeded, limits } from './limits.ts'
import type { GraphQLParams } from './params.ts'
import { lazy } from './schema/connection.ts'
import { schema } from './schema/index.ts'
import { checkRootDirectives } from './subscription/root-directives.ts'
import { createSubscribe, type SubscribeDependencies, type Subscription } from './subscription/subscribe.ts'
import { requireTransport } from './subscription/transports.ts'
import { invalidVariables } from './variables.ts'

/** The result of an operation, or why its request was rejected. */
export interface Outcome {
  /** Returns the result's `data` as JSON; undefined when nothing was executed. */
  toJson?: (() => string) | undefined
  errors?: readonly GraphQLError[] | undefined
  /** The code of all errors of a rejected request. */
  code?: ErrorCode
  /** Instead of a result. */
  subscription?: Subscription
  /** In points; the limit is the largest cost that this caller's operations may have. */
  cost?: { requested: number; limit: number }
}

/** A result, and how long its execution waited for the database, in milliseconds. */
type Executed = Outcome & { databaseMs: number }

/** A request that is rejected before execution. */
export class GraphQLRequestError extends Error implements Outcome {
  readonly code: ErrorCode
  readonly errors: readonly GraphQLError[]

  constructor(code: ErrorCode, ...errors: GraphQLError[]) {
    super(errors[0]?.message)
    this.code = code
    this.errors = errors
  }
}

export interface ExecuteDependencies extends SubscribeDependencies {
  trusted: TrustedDocuments
  /** Rate limiter of callers; no point of the request has been consumed before. */
  keyLimiter?: RateLimiter | undefined
}

/** Executes one request. @throws GraphQLRequestError, ApiError for requests that it rejects */
export type Execute = (params: GraphQLParams, req: Request, res: Response) => Promise<Outcome>

/** Parses, authorizes, checks limits, validates, consumes the cost, executes; concurrent identical queries run once. */
export function createExecute({ trusted, keyLimiter, ...dependencies }: ExecuteDependencies): Execute {
  const { animals, feed } = dependencies
  const subscribe = createSubscribe(dependencies)
  const engine = createEngine()
  const coalesce = createCoalescer<Executed>()
  const validOperations = new WeakMap<OperationDefinitionNode, Analysis>()
  const costLimit = Math.min(limits.cost, keyLimiter?.points ?? limits.cost)

  return async (params, req, res) => {
    const document = parseDocument(engine, resolveDocument(trusted, params))
    const operation = selectOperation(document, params.operationName)
    const variables = params.variables ?? {}
    req.operation = { type: operation.operation, name: operation.name?.value }
    authorize(req, operation)
    const analysis = validOperations.get(operation) ?? checkDocument(engine, document, operation)
    validOperations.set(operation, analysis)

    const coerced = engine.coerceVariables(operation, variables)
    if (!coerced) throw new GraphQLRequestError('INVALID_ARGUMENT', invalidVariables(document, operation, variables))

    const cost = { requested: analysis.cost(coerced), limit: costLimit }
    if (cost.requested > cost.limit) throw invalid([limitExceeded('The cost', cost.requested, cost.limit)])
    if (keyLimiter) await consumeQuota(keyLimiter, req, res, Math.max(cost.requested, 1))

    if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
      const begun = await subscribe(document, operation, variables, req, res)
      if ('nextPart' in begun) return { subscription: begun }
      throw new GraphQLRequestError('INVALID_ARGUMENT', ...(begun.errors ?? []))
    }
    const executeIn = async (context: Pick<GraphQLContext, 'deadline' | 'caller'>): Promise<Executed> => {
      const { data, errors } = await engine.execute(document, operation, { animals, feed, ...context }, variables)
      return {
        // Formatted when it is sent: the texts of all results of a batch would take memory at the same time.
        toJson: data === undefined ? undefined : lazy(() => JSON.stringify(data)),
        errors,
        databaseMs: context.deadline.databaseMs,
      }
    }
    if (operation.operation !== OperationTypeNode.QUERY) {
      return { ...(await executeIn({ deadline: req.deadline, caller: callerOf(req) })), cost }
    }
    // Query results depend only on the text of the request, so identical requests may share one execution. It has no
    // caller and its own deadline; each of the requests waits until its own deadline.
    const shared = () => executeIn({ deadline: req.deadline.fork(), caller: undefined })
    return { ...(await req.deadline.runShared(() => coalesce(req.bodyText ?? req.originalUrl, shared))), cost }
  }
}

function parseDocument(engine: Engine, text: string): DocumentNode {
  try {
    return engine.parse(text)
  } catch (error) {
    if (error instanceof GraphQLError) throw new GraphQLRequestError('GRAPHQL_PARSE_FAILED', error)
    // The parser is recursive: deep nesting may exceed the stack before the limit of tokens.
    if (!(error instanceof RangeError)) throw error
    throw new GraphQLRequestError('GRAPHQL_PARSE_FAILED', new GraphQLError('The document is nested too deep.'))
  }
}

/** @throws GraphQLRequestError when a limit is exceeded or the document is invalid */
function checkDocument(engine: Engine, document: DocumentNode, operation: OperationDefinitionNode): Analysis {
  const analysis = analyze(document, operation)
  // With fragments in a cycle, other rules take unbounded time. NoFragmentCyclesRule skips fragments with the same name.
  if (!analysis) {
    throw invalid(validate(schema, document, [UniqueFragmentNamesRule, NoFragmentCyclesRule], { maxErrors: 1 }))
  }
  const exceeded = checkLimits(analysis)
  if (exceeded.length) throw invalid(exceeded)
  const conditional = checkRootDirectives(document)
  if (conditional.length) throw invalid(conditional)
  const errors = engine.validate(document)
  if (errors.length) throw invalid(errors)
  return analysis
}

function invalid(errors: readonly GraphQLError[]): GraphQLRequestError {
  return new GraphQLRequestError('GRAPHQL_VALIDATION_FAILED', ...errors)
}

function selectOperation(document: DocumentNode, operationName: string | null | undefined): OperationDefinitionNode {
  const operation = getOperationAST(document, operationName)
  if (operation && schema.getRootType(operation.operation)) return operation
  const message = operation
    ? `The schema has no ${operation.operation} operations.`
    : 'operationName: must name an operation of the document'
  throw new GraphQLRequestError('INVALID_ARGUMENT', new GraphQLError(message))
}

/** The scope that each type of operation requires. */
const SCOPES: Record<OperationTypeNode, Scope> = {
  query: 'pets:read',
  mutation: 'pets:write',
  subscription: 'pets:read',
}

/**
 * @throws ApiError METHOD_NOT_ALLOWED for a mutation or a subscription that is not sent by POST, PERMISSION_DENIED
 *   without the scope, NOT_ACCEPTABLE for a subscription whose client accepts no stream
 */
function authorize(req: Request, { operation }: OperationDefinitionNode): void {
  if (req.method !== 'POST' && operation !== OperationTypeNode.QUERY) {
    const message = `${operation === OperationTypeNode.MUTATION ? 'Mutations' : 'Subscriptions'} must use POST.`
    throw new ApiError('METHOD_NOT_ALLOWED', message, { headers: { Allow: 'POST' } })
  }
  requireScope(req, SCOPES[operation])
  if (operation === OperationTypeNode.SUBSCRIPTION) requireTransport(req)
}
