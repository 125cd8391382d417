import type { Request, Response } from 'express'
import type { ExecutionResult, GraphQLSchema } from 'graphql'
import { createYoga, type GraphQLParams } from 'graphql-yoga'
import { callerOf } from '../http/request.ts'
import { createAnalyze } from './analysis.ts'
import type { GraphQLDependencies, PipelineContext, Subscription } from './context.ts'
import { useCost } from './plugins/cost.ts'
import { useExecutor } from './plugins/executor.ts'
import { useValidation } from './plugins/validation.ts'
import { useOperation } from './plugins/operation.ts'
import type { RequestParams } from './params.ts'
import { toRequestError } from './errors.ts'
import { useSharedExecution } from './plugins/shared-execution.ts'
import { useSubscriptions } from './subscription/subscribe.ts'
import { useTrustedDocuments } from './plugins/trusted-documents.ts'

export type Outcome = Exclude<Awaited<ReturnType<ReturnType<typeof createPipeline>>>, Subscription>

/** @returns a function that executes a request by Yoga's pipeline, not its Fetch layer (decision 7). It throws ApiError */
export function createPipeline(schema: GraphQLSchema, dependencies: GraphQLDependencies) {
  const { clientLimiter, plugins = [], services, trusted } = dependencies
  const analyze = createAnalyze(schema)
  const yoga = createYoga<PipelineContext>({
    schema,
    logging: false,
    maskedErrors: false, // toGraphQLError maps them
    parserAndValidationCache: false, // useValidation has its own
    plugins: [
      useTrustedDocuments(trusted),
      useValidation(schema, analyze),
      useOperation(analyze),
      useCost(schema, analyze, clientLimiter),
      useExecutor(schema), // optional: without it, pages that differ take 20 to 40 % more CPU time (decision 8)
      useSharedExecution(analyze, plugins.length > 0),
      useSubscriptions(schema, dependencies),
      ...plugins, // of createService: with any, each request gets its own copy of a shared result
    ],
  })

  return async (params: RequestParams, req: Request, res: Response) => {
    const { deadline } = req
    const context = { services, caller: callerOf(req), deadline, req, res } as PipelineContext // plugins set the rest
    const request = new FetchRequest(req) as unknown as globalThis.Request // has all that the pipeline reads
    const given = { params: params as GraphQLParams, request } // useTrustedDocuments sets or rejects a missing query
    const result = (await yoga.getResultForParams(given, context)) as ExecutionResult // no stream
    const { data } = result
    if (context.subscription && data === undefined && !result.errors?.length) return context.subscription
    if (data === undefined) throw toRequestError(result)
    const { cost, shared } = context // there is no cost if another plugin has set the result before the execution
    const dataJson = () => (shared?.result.data === data ? shared.dataJson() : JSON.stringify(data))
    return { result, cost, dataJson }
  }
}

/**
 * What plugins read of a request, except its body. Most read nothing, and creating objects of Fetch takes longer than a
 * query. An object literal with getters would take a fifth of the CPU time of a query, most of it in garbage collection.
 */
class FetchRequest {
  readonly #req: Request

  constructor(req: Request) {
    this.#req = req
  }

  get method() {
    return this.#req.method
  }

  get url() {
    return new URL(this.#req.originalUrl, `${this.#req.protocol}://${this.#req.host}`).href
  }

  get headers() {
    return new Headers(this.#req.headers as Record<string, string>) // only responses have a list as value, of Set-Cookie
  }
}
