import type { Tracer } from '@opentelemetry/api'
import { type Request, type Response, type RequestHandler, Router } from 'express'
import { type DocumentNode, type ExecutionResult, getOperationAST, GraphQLError } from 'graphql'
import { createYoga, type YogaInitialContext } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import { createJoin } from '../animals/joined.ts'
import type { Animals } from '../animals/service.ts'
import { callerOf, requireScope, spend } from '../context.ts'
import { ApiError, type ErrorCode } from '../errors.ts'
import { endWithJson } from '../http/json-answer.ts'
import { jsonBody } from '../http/json-body.ts'
import { allow } from '../http/methods.ts'
import type { RequestTime } from '../http/request-time.ts'
import type { RateLimiter } from '../keys/rate-limiter.ts'
import { negotiate, toGraphQLError } from './answers.ts'
import type { GraphQLContext } from './builder.ts'
import { useCompiled } from './compiled.ts'
import { fromQuery, type GraphQLParams, toParams } from './params.ts'
import { limits, measure, overLimits } from './limits.ts'
import { schema } from './schema.ts'
import { type TrustedDocuments, trustedText } from './documents.ts'
import { traceOperations } from './traces.ts'

/** A document with many mistakes is told the first ones only. */
const MAX_VALIDATION_ERRORS = 5

/** Source text of parsed documents that is kept, in characters; their syntax trees take some ten times that. */
const PARSED_DOCUMENTS_SIZE = 1_000_000

/** What running a document gives: data, errors, and the code of the errors where it is not each error's own. */
interface Outcome {
  /** In JSON. */
  data?: string
  errors?: readonly GraphQLError[] | undefined
  code?: ErrorCode
  /** What the operation costs, where it got so far. */
  cost?: number
}

/** What an execution gives, and how long it has waited for the database. */
type Executed = Outcome & { databaseMs: number }

export interface GraphQLParts {
  animals: Animals
  log: Logger
  trusted: TrustedDocuments
  /** Of each caller, in cost; a request has paid 1 before it comes here. */
  budget?: RateLimiter | undefined
  /** Makes a span for each operation; none when there is no tracer. */
  tracer?: Tracer | undefined
}

/**
 * GraphQL over HTTP (the specification of that name), at `/graphql`, on Yoga's engine: its parser and validation
 * caches and plugins, but not its Fetch layer, so that bodies, errors and headers are read and written as for REST.
 */
export function graphqlRouter({ animals, log, trusted, budget, tracer }: GraphQLParts): Router {
  const yoga = createYoga({
    schema,
    plugins: [useCompiled()],
    logging: false,
    graphiql: false,
    landingPage: false,
    cors: false,
    multipart: false,
    maskedErrors: false, // toGraphQLError maps them
    parserAndValidationCache: { documentCache: boundedCache<DocumentNode>(), errorCache: boundedCache<Error>() },
  })

  // One for all requests: no plugin looks at the context, whose own members are for Yoga's Fetch layer.
  const { parse, validate, execute } = yoga.getEnveloped({} as YogaInitialContext)
  const join = createJoin<Executed>()

  async function answer(req: Request, res: Response, params: GraphQLParams): Promise<void> {
    const mediaType = negotiate(req)
    const result: Outcome = await run(params, req, res)
    const errors = result.errors?.map((error) => toGraphQLError(error, result.code, log, req))
    // Without data nothing was executed. Clients that name application/json expect such answers as 200.
    const failed = !('data' in result) && !(mediaType.type === 'application/json' && mediaType.named)
    res.status(failed ? 400 : 200)
    const told = req.headers['graphql-cost'] !== undefined && result.cost !== undefined
    const members = [
      ...(errors ? [`"errors":${JSON.stringify(errors)}`] : []),
      ...(result.data === undefined ? [] : [`"data":${result.data}`]),
      ...(told ? [`"extensions":${JSON.stringify({ cost: { requested: result.cost, limit: limits.cost } })}`] : []),
    ]
    endWithJson(res, `{${members.join()}}`, mediaType.type)
  }

  async function run(
    { query, documentId, variables, operationName }: GraphQLParams,
    req: Request,
    res: Response,
  ): Promise<Outcome> {
    const text = trustedText(trusted, query, documentId)
    let document: DocumentNode
    try {
      document = parse(text, { maxTokens: limits.tokens })
    } catch (error) {
      // The parser calls itself for each level, and the stack may end before the tokens do.
      const refused = error instanceof RangeError ? new GraphQLError('The document is nested too deep.') : error
      if (!(refused instanceof GraphQLError)) throw error
      return { errors: [refused], code: 'GRAPHQL_PARSE_FAILED' }
    }
    const operation = getOperationAST(document, operationName)
    if (!operation) {
      const error = new GraphQLError('operationName: must name an operation of the document')
      return { errors: [error], code: 'INVALID_ARGUMENT' }
    }
    req.operation = { type: operation.operation, name: operation.name?.value }
    if (req.method !== 'POST' && operation.operation !== 'query') {
      throw new ApiError('METHOD_NOT_ALLOWED', 'A mutation takes POST.', { headers: { Allow: 'POST' } })
    }
    requireScope(req, operation.operation === 'mutation' ? 'pets:write' : 'pets:read')
    const measures = measure(document, operation, variables)
    const { cost } = measures
    const excess = overLimits(measures)
    if (excess.length) return { errors: excess, code: 'GRAPHQL_VALIDATION_FAILED', cost }
    const options = { maxErrors: MAX_VALIDATION_ERRORS }
    const invalid: readonly GraphQLError[] = validate(schema, document, undefined, options)
    if (invalid.length) return { errors: invalid, code: 'GRAPHQL_VALIDATION_FAILED', cost }
    if (budget && cost > 1) await spend(budget, req, res, cost - 1)
    const executed = async (time: RequestTime): Promise<Executed> => {
      const contextValue = { animals, caller: callerOf(req), time } satisfies GraphQLContext
      const args = { schema, document, contextValue, variableValues: variables, operationName }
      const { data, errors }: ExecutionResult = await execute(args)
      return { ...(data !== undefined && { data: JSON.stringify(data) }), errors, cost, databaseMs: time.databaseMs }
    }
    if (operation.operation !== 'query') return executed(req.time)
    // Whatever else is in a request, a query of the same text has the same answer, and asks for no more than the scope above.
    // It is run in a time of its own, and whoever joins waits for it in theirs.
    return req.time.shared(() => join(req.bodyText ?? req.originalUrl, () => executed(req.time.another())))
  }

  const handle = tracer ? traceOperations(tracer, answer) : answer
  const router = Router({ strict: true, caseSensitive: true })
  router
    .route('/')
    .all((req, _res, next) => {
      negotiate(req)
      next()
    })
    .get((req, res) => handle(req, res, fromQuery(req.query)))
    .post(jsonBody, (req, res) => handle(req, res, toParams(req.body)))
    .all(allow('GET', 'HEAD', 'POST'))
  router.use((() => {
    throw new ApiError('NOT_FOUND', 'There is nothing at this address.')
  }) satisfies RequestHandler)
  return router
}

/** A cache of documents by their text, bounded by how much text it holds: documents are as long as clients like. */
function boundedCache<T extends object>() {
  return new LRUCache<string, T>({
    max: 1_000,
    maxSize: PARSED_DOCUMENTS_SIZE,
    sizeCalculation: (_value, text) => text.length + 100,
  })
}
