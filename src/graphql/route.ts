import type { Tracer } from '@opentelemetry/api'
import type { NextFunction, Request, Response, Router } from 'express'
import { consumeForFailure } from '../auth/rate-limit.ts'
import { jsonBody } from '../http/body.ts'
import { sendCacheable, toCacheable } from '../http/cacheable.ts'
import { notFound } from '../http/error-handler.ts'
import { allowMethods, createRouter } from '../http/router.ts'
import { sendJson } from '../http/send-json.ts'
import { staticText } from '../http/static.ts'
import { GraphQLRequestError, negotiate, toGraphQLError } from './errors.ts'
import { createExecute, type ExecuteDependencies, type Outcome } from './execute.ts'
import { paramsOf } from './params.ts'
import { printedSchema } from './schema/index.ts'
import { sendSingleResult, sendStream, type SendStreamDependencies } from './subscription/send-stream.ts'
import { isNamed } from './subscription/transports.ts'
import { traceOperations } from './tracing.ts'

export interface GraphQLRouterDependencies extends ExecuteDependencies, SendStreamDependencies {
  /** Creates a span for each operation; none without a tracer. */
  tracer?: Tracer | undefined
}

/** A response whose media type is negotiated. */
type NegotiatedResponse = Response<unknown, { mediaType: string }>

/** The GraphQL API at `/graphql`, as the specification GraphQL over HTTP defines it. */
export function graphqlRouter({ tracer, ...dependencies }: GraphQLRouterDependencies): Router {
  const { logError, keyLimiter } = dependencies
  const execute = createExecute(dependencies)

  function toJson(outcome: Exclude<Outcome, { kind: 'stream' }>, req: Request): string {
    const code = outcome.kind === 'rejected' ? outcome.code : undefined
    const formatted = outcome.errors?.map((error) => toGraphQLError(error, code, logError, req))
    const errors = formatted && `"errors":${JSON.stringify(formatted)}`
    if (outcome.kind === 'rejected') return `{${errors}}`
    const { cost } = outcome
    const extensions = req.headers['graphql-cost'] === undefined ? '' : `,"extensions":${JSON.stringify({ cost })}`
    return `{${errors ? `${errors},` : ''}"data":${outcome.dataJson()}${extensions}}`
  }

  async function respond(req: Request, res: NegotiatedResponse): Promise<void> {
    const { mediaType } = res.locals
    const outcome = await execute(paramsOf(req), req, res).catch(async (error: unknown) => {
      if (!(error instanceof GraphQLRequestError)) throw error
      await consumeForFailure(keyLimiter, req, res)
      return error
    })
    if (outcome.kind === 'stream') return sendStream(req, res, outcome.subscription, dependencies)
    const json = toJson(outcome, req)
    if (mediaType === 'text/event-stream') return sendSingleResult(res, json)
    // Clients that name application/json expect a request error as 200 (GraphQL over HTTP, section 6.4.1).
    const isFailure = outcome.kind === 'rejected' && !(mediaType === 'application/json' && isNamed(req, mediaType))
    res.status(isFailure ? 400 : 200)
    // Errors are not cached: many of them are temporary. Only queries come by GET.
    if (req.method === 'POST' || outcome.errors) return sendJson(res, json, mediaType)
    res.vary('Accept').vary('GraphQL-Cost')
    sendCacheable(req, res, toCacheable(json, mediaType), mediaType)
  }

  const handle = tracer ? traceOperations(tracer, respond) : respond
  const router = createRouter()
  router
    .route('/')
    .all((req: Request, res: NegotiatedResponse, next: NextFunction) => {
      res.locals.mediaType = negotiate(req)
      next()
    })
    .get(handle)
    .post(jsonBody, handle)
    .all(allowMethods('GET', 'HEAD', 'POST'))
  router.use(notFound)
  return router
}

/** `/schema.graphql`: the schema for code generators, which need no key and no introspection. */
export function schemaRouter(): Router {
  const router = createRouter()
  router
    .route('/schema.graphql')
    .get(staticText({ 'Content-Type': 'text/plain; charset=utf-8' }, printedSchema()))
    .all(allowMethods('GET', 'HEAD'))
  return router
}
