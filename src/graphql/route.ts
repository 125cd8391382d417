import type { Tracer } from '@opentelemetry/api'
import type { Request, Response, Router } from 'express'
import { consumeForFailure } from '../auth/rate-limit.ts'
import { sendCacheable, toCacheable } from '../http/cacheable.ts'
import { notFound } from '../http/error-handler.ts'
import { sendJson } from '../http/send-json.ts'
import { jsonBody } from '../http/body.ts'
import { allowMethods, createRouter } from '../http/router.ts'
import { negotiate, toGraphQLError } from './errors.ts'
import { createExecute, type ExecuteDependencies, GraphQLRequestError, type Outcome } from './execute.ts'
import { paramsOf } from './params.ts'
import { sendSingleResult, sendStream, type SendStreamDependencies } from './subscription/send-stream.ts'
import { traceOperations } from './tracing.ts'

export interface GraphQLRouterDependencies extends ExecuteDependencies, SendStreamDependencies {
  /** Creates a span for each operation; none without a tracer. */
  tracer?: Tracer | undefined
}

/** The GraphQL API at `/graphql`, as the specification GraphQL over HTTP defines it. */
export function graphqlRouter({ tracer, ...dependencies }: GraphQLRouterDependencies): Router {
  const { logError, keyLimiter } = dependencies
  const execute = createExecute(dependencies)

  async function respond(req: Request, res: Response): Promise<void> {
    const mediaType = negotiate(req)
    const { toJson, errors, code, cost, subscription } = await execute(paramsOf(req), req, res).catch(
      async (error: unknown): Promise<Outcome> => {
        if (!(error instanceof GraphQLRequestError)) throw error
        await consumeForFailure(keyLimiter, req, res)
        return error
      },
    )
    if (subscription) return sendStream(req, res, subscription, dependencies)
    const failed = toJson === undefined
    // Clients that name application/json expect a request error as 200 (GraphQL over HTTP, section 6.4.1).
    res.status(failed && !(mediaType.type === 'application/json' && mediaType.explicit) ? 400 : 200)
    const formatted = errors?.map((error) => toGraphQLError(error, code, logError, req))
    const includeCost = req.headers['graphql-cost'] !== undefined && cost
    const errorsMember = formatted ? `"errors":${JSON.stringify(formatted)}${failed ? '' : ','}` : ''
    const dataMember = failed ? '' : `"data":${toJson()}`
    const costMember = includeCost ? `,"extensions":${JSON.stringify({ cost })}` : ''
    const json = `{${errorsMember}${dataMember}${costMember}}`
    if (mediaType.type === 'text/event-stream') return sendSingleResult(res, json)
    // Errors are not cached: many of them are temporary. Only queries come by GET.
    if (req.method === 'POST' || errors) return sendJson(res, json, mediaType.type)
    res.vary('Accept').vary('GraphQL-Cost')
    sendCacheable(req, res, toCacheable(json, mediaType.type), mediaType.type)
  }

  const handle = tracer ? traceOperations(tracer, respond) : respond
  const router = createRouter()
  router
    .route('/')
    .all((req, _res, next) => {
      negotiate(req)
      next()
    })
    .get(handle)
    .post(jsonBody, handle)
    .all(allowMethods('GET', 'HEAD', 'POST'))
  router.use(notFound)
  return router
}
