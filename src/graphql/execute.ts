import type { Request, Response } from 'express'
import {
  type DocumentNode,
  execute as executeInterpreted,
  type ExecutionResult,
  getOperationAST,
  getVariableValues,
  GraphQLError,
  NoFragmentCyclesRule,
  type OperationDefinitionNode,
  OperationTypeNode,
  validate as validateOnce,
} from 'graphql'
import { createYoga, type YogaInitialContext } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { createCoalescer } from '../coalesce.ts'
import type { Animals } from '../animals/service.ts'
import { checkScope } from '../auth/authenticate.ts'
import { consumeQuota } from '../auth/rate-limit.ts'
import { ApiError, type ErrorCode } from '../errors.ts'
import { callerOf } from '../http/request.ts'
import type { RateLimiter } from '../auth/rate-limiter.ts'
import type { GraphQLContext } from './schema/builder.ts'
import { costOf } from './cost.ts'
import { type TrustedDocuments, resolveDocument } from './trusted-documents.ts'
import { createJit } from './jit.ts'
import { analyzeQuery, checkLimits, limitExceeded, limits } from './limits.ts'
import type { GraphQLParams } from './params.ts'
import { schema } from './schema/index.ts'

/** Validation stops at this many errors. */
const MAX_VALIDATION_ERRORS = 5

/** Coercion of variables stops at this many errors, each of which describes the whole value. */
const MAX_VARIABLE_ERRORS = 10

/** Bound of the parser and validation caches in characters of source text; a syntax tree takes up to 300 times that. */
const DOCUMENT_CACHE_MAX_CHARS = 250_000

/** The result of an operation. */
export interface ExecutionOutcome {
  /** The result's `data` as JSON; undefined when nothing was executed. */
  data?: string
  errors?: readonly GraphQLError[] | undefined
  cost: number
  /** The largest cost that this caller's operations may have. */
  costLimit: number
}

/** A result, and how long its execution waited for the database, in milliseconds. */
type Executed = Pick<ExecutionOutcome, 'data' | 'errors'> & { databaseMs: number }

/** A request that is rejected before execution. */
export class GraphQLRequestError extends Error {
  readonly code: ErrorCode
  readonly errors: readonly GraphQLError[]

  constructor(code: ErrorCode, ...errors: GraphQLError[]) {
    super(errors[0]?.message)
    this.code = code
    this.errors = errors
  }
}

export interface ExecuteDependencies {
  animals: Animals
  trusted: TrustedDocuments
  /** Rate limiter of callers; 1 point of each request has been consumed before. */
  keyLimiter?: RateLimiter | undefined
}

/** Executes one request. @throws GraphQLRequestError, ApiError for requests that it rejects */
export type Execute = (params: GraphQLParams, req: Request, res: Response) => Promise<ExecutionOutcome>

type PromiseOrValue<T> = T | Promise<T>
type Engine = ReturnType<typeof createEngine>

/**
 * Yoga's parser and validator with their caches, and graphql-js as the executor. Yoga's Fetch layer is not used, so that
 * both APIs read and write bodies, errors and headers in the same way. Yoga's executor is not used because its results
 * differ from those of graphql-js for a variable named `__proto__`.
 */
export function createEngine() {
  const yoga = createYoga({
    schema,
    logging: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    maskedErrors: false, // toGraphQLError maps them
    parserAndValidationCache: { documentCache: boundedCache<DocumentNode>(), errorCache: boundedCache<Error>() },
  })
  // Enveloped once: no plugin reads the initial context, whose members are for Yoga's Fetch layer.
  const { parse, validate } = yoga.getEnveloped({} as YogaInitialContext)
  const compiledOperation = createJit()

  /** Executes a valid operation of a document. */
  function execute(
    document: DocumentNode,
    operation: OperationDefinitionNode,
    contextValue: GraphQLContext,
    variableValues: Record<string, unknown> = {},
  ): PromiseOrValue<ExecutionResult> {
    const result = compiledOperation(document, operation)?.query(undefined, contextValue, variableValues)
    // Without data, the variables were invalid and nothing was executed: graphql-js has better messages.
    if (result && !('errors' in result && result.data === undefined)) return result
    const operationName = operation.name?.value
    return executeInterpreted({ schema, document, operationName, contextValue, variableValues })
  }

  return {
    parse(text: string): DocumentNode {
      return parse(text, { maxTokens: limits.tokens })
    },
    validate(document: DocumentNode): readonly GraphQLError[] {
      return validate(schema, document, undefined, { maxErrors: MAX_VALIDATION_ERRORS })
    },
    coerceVariables({ variableDefinitions = [] }: OperationDefinitionNode, variables: Record<string, unknown> = {}) {
      return getVariableValues(schema, variableDefinitions, variables, { maxErrors: MAX_VARIABLE_ERRORS })
    },
    execute,
  }
}

/** Parses, authorizes, checks limits, validates, consumes the cost and executes; concurrent identical queries execute once. */
export function createExecute({ animals, trusted, keyLimiter }: ExecuteDependencies): Execute {
  const engine = createEngine()
  const coalesce = createCoalescer<Executed>()
  const costLimit = Math.min(limits.cost, keyLimiter?.points ?? limits.cost)

  return async (params, req, res) => {
    const document = parseDocument(engine, resolveDocument(trusted, params.query, params.documentId))
    const operation = selectOperation(document, params.operationName)
    req.operation = { type: operation.operation, name: operation.name?.value }
    authorize(req, operation)
    checkDocument(engine, document, operation)

    const { coerced, errors } = engine.coerceVariables(operation, params.variables)
    if (errors) throw new GraphQLRequestError('INVALID_ARGUMENT', ...errors)

    const cost = costOf(schema, document, operation, coerced)
    if (cost > costLimit) {
      throw new GraphQLRequestError('GRAPHQL_VALIDATION_FAILED', limitExceeded('The cost', cost, costLimit))
    }
    if (keyLimiter && cost > 1) await consumeQuota(keyLimiter, req, res, cost - 1)

    const executeIn = async (context: Pick<GraphQLContext, 'deadline' | 'caller'>): Promise<Executed> => {
      const { data, errors } = await engine.execute(document, operation, { animals, ...context }, params.variables)
      return {
        ...(data !== undefined && { data: JSON.stringify(data) }),
        errors,
        databaseMs: context.deadline.databaseMs,
      }
    }
    if (operation.operation !== OperationTypeNode.QUERY) {
      return { ...(await executeIn({ deadline: req.deadline, caller: callerOf(req) })), cost, costLimit }
    }
    // Query results depend only on the text of the request, so identical requests may share one execution. It has no
    // caller and its own deadline; each of the requests waits until its own deadline.
    const shared = () => executeIn({ deadline: req.deadline.fork(), caller: undefined })
    return {
      ...(await req.deadline.runShared(() => coalesce(req.bodyText ?? req.originalUrl, shared))),
      cost,
      costLimit,
    }
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
function checkDocument(engine: Engine, document: DocumentNode, operation: OperationDefinitionNode): void {
  const stats = analyzeQuery(document, operation)
  const exceeded = stats && checkLimits(stats)
  if (exceeded?.length) throw new GraphQLRequestError('GRAPHQL_VALIDATION_FAILED', ...exceeded)
  // With fragments in a cycle, the time of all other rules is unbounded.
  const invalid = stats
    ? engine.validate(document)
    : validateOnce(schema, document, [NoFragmentCyclesRule], { maxErrors: 1 })
  if (invalid.length) throw new GraphQLRequestError('GRAPHQL_VALIDATION_FAILED', ...invalid)
}

function selectOperation(document: DocumentNode, operationName: string | undefined): OperationDefinitionNode {
  const operation = getOperationAST(document, operationName)
  if (operation && schema.getRootType(operation.operation)) return operation
  const message = operation
    ? `The schema has no ${operation.operation} operations.`
    : 'operationName: must name an operation of the document'
  throw new GraphQLRequestError('INVALID_ARGUMENT', new GraphQLError(message))
}

/** @throws ApiError METHOD_NOT_ALLOWED for a mutation that is not sent by POST, PERMISSION_DENIED without the scope */
function authorize(req: Request, { operation }: OperationDefinitionNode): void {
  if (req.method !== 'POST' && operation !== OperationTypeNode.QUERY) {
    throw new ApiError('METHOD_NOT_ALLOWED', 'Mutations must use POST.', { headers: { Allow: 'POST' } })
  }
  checkScope(req, operation === OperationTypeNode.QUERY ? 'pets:read' : 'pets:write')
}

/** A cache by document text, bounded in entries and in characters. */
function boundedCache<T extends object>() {
  return new LRUCache<string, T>({
    max: 1_000,
    maxSize: DOCUMENT_CACHE_MAX_CHARS,
    sizeCalculation: (_value, text) => text.length + 100,
  })
}
