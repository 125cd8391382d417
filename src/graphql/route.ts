import type { IRouter, Request, RequestHandler, Response } from 'express'
import type { GraphQLSchema } from 'graphql'
import { parseBody, receiveBody } from '../http/body.ts'
import { sendCacheable, toCacheable } from '../http/cacheable.ts'
import { notFound } from '../http/error-handler.ts'
import { callerOf } from '../http/request.ts'
import { rejectOtherMethods, METHODS } from '../http/allowed-methods.ts'
import type { GraphQLDependencies } from './context.ts'
import { toGraphQLError } from './errors.ts'
import { paramsOf } from './params.ts'
import { EVENT_STREAM_TYPE, graphqlErrorHandler, type GraphQLLocals, negotiate, sendResult } from './respond.ts'
import { sendStream } from './subscription/send-stream.ts'
import { createPipeline, type Outcome } from './pipeline.ts'

/** The GraphQL API at `/graphql`, as the specification GraphQL over HTTP defines it. */
export function addGraphQLRoute(
  app: IRouter,
  admit: RequestHandler,
  schema: GraphQLSchema,
  dependencies: GraphQLDependencies,
) {
  const { keptBytes, observe, turns } = dependencies
  const execute = createPipeline(schema, dependencies)

  function send({ cost, dataJson, result }: Outcome, req: Request, res: Response, mediaType: string): void {
    const errors = result.errors?.length ? result.errors : undefined // a plugin may set an empty list
    const formatted = errors?.map((error) => toGraphQLError(error, undefined, observe, req))
    const members = formatted ? `"errors":${JSON.stringify(formatted)},` : ''
    const all = req.headers['graphql-cost'] === undefined ? result.extensions : { ...result.extensions, cost }
    const extensions = all ? `,"extensions":${JSON.stringify(all)}` : ''
    const json = `{${members}"data":${dataJson()}${extensions}}`
    // Errors are not cached: many of them are temporary. Only queries come by GET.
    if (req.method === 'POST' || errors || mediaType === EVENT_STREAM_TYPE)
      return sendResult(res, json, mediaType, errors !== undefined)
    res.vary('Accept').vary('GraphQL-Cost')
    sendCacheable(req, res, toCacheable(json, mediaType), mediaType)
  }

  async function respond(req: Request, res: Response<unknown, GraphQLLocals>): Promise<void> {
    const mediaType = negotiate(req)
    let bytes = req.method === 'POST' ? await receiveBody(req, res, keptBytes) : undefined
    const work = async () => {
      if (bytes) parseBody(req, bytes)
      bytes = undefined // a request that waits for the database does not keep them
      res.locals.mediaType = mediaType
      const params = paramsOf(req)
      req.body = undefined // parsed, it may take a megabyte while the execution waits
      return await execute(params, req, res)
    }
    const outcome = await turns.inTurn(req, res, work, bytes?.length)
    if ('stream' in outcome) return sendStream(req, res, outcome, dependencies)
    const beganAtMs = performance.now()
    send(outcome, req, res, mediaType)
    turns.charge(callerOf(req).clientId, performance.now() - beganAtMs)
  }

  app
    .route('/graphql')
    .all(admit)
    .get(respond)
    .post(respond)
    .all(rejectOtherMethods(...METHODS))
  app.use('/graphql', admit, notFound, graphqlErrorHandler(observe))
}
