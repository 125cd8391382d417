import type { Request, Response } from 'express'
import { type GraphQLError, type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import { consumeQuota, type RateLimiter } from '../auth/rate-limit.ts'
import { createCoalescer } from '../coalesce.ts'
import { callerOf } from '../http/request.ts'
import type { Turns } from '../http/turns.ts'
import { createEngine } from './engine.ts'
import { Execution } from './executor.ts'
import { limits } from './limits.ts'
import type { GraphQLParams } from './params.ts'
import { createPrepare, type Prepared } from './prepare.ts'
import type { GraphQLContext } from './schema/builder.ts'
import { lazy } from './schema/connection.ts'
import { createSubscribe, type SubscribeDependencies, type Subscription } from './subscription/subscribe.ts'
import type { TrustedDocuments } from './trusted-documents.ts'

/** Shorter executions are not charged in advance, so that many of them share statements. In milliseconds. */
const LONG_EXECUTION_MS = 1

export type Result = Executed & Pick<Prepared, 'cost'>

interface Executed {
  /** The result's `data` as JSON. It is formatted when it is sent: the texts of a whole batch would take memory at once. */
  dataJson(): string
  errors: readonly GraphQLError[] | undefined
  /** How long the execution waited for the database, in milliseconds. */
  databaseMs: number
}

export interface ExecuteDependencies extends SubscribeDependencies {
  trusted: TrustedDocuments
  /** Rate limiter of callers; the first point of the request has been consumed before. */
  keyLimiter?: RateLimiter | undefined
  turns: Turns
}

/** @returns a function that executes a request, and throws ApiError or GraphQLError for one that it rejects */
export function createExecute({ trusted, keyLimiter, turns, ...dependencies }: ExecuteDependencies) {
  const { animals, feed } = dependencies
  const engine = createEngine()
  const prepare = createPrepare(engine, trusted, Math.min(limits.cost, keyLimiter?.points ?? limits.cost))
  const subscribe = createSubscribe(dependencies)
  const coalesce = createCoalescer<Executed>()
  /** What the last execution of an operation took until it waited for the database, in milliseconds. */
  const lastMs = new WeakMap<OperationDefinitionNode, number>()

  async function executeIn(
    prepared: Prepared,
    context: Pick<GraphQLContext, 'deadline' | 'caller'>,
  ): Promise<Executed> {
    const { data, errors } = await new Execution(prepared, { animals, feed, ...context }).run()
    return { dataJson: lazy(() => JSON.stringify(data)), errors, databaseMs: context.deadline.databaseMs }
  }

  function run(prepared: Prepared, req: Request): Promise<Executed> {
    const caller = callerOf(req)
    // Introspection waits for nothing, so all of its execution is in the turn of its client.
    if (prepared.operation.operation !== OperationTypeNode.QUERY || prepared.introspects) {
      return executeIn(prepared, { deadline: req.deadline, caller })
    }
    // Query results depend only on the text of the request, so identical requests may share one execution. It has no
    // caller and its own deadline; each of the requests waits until its own deadline.
    const shared = () => {
      const beganMs = performance.now()
      const executed = executeIn(prepared, { deadline: req.deadline.fork(), caller: undefined })
      lastMs.set(prepared.operation, performance.now() - beganMs)
      return executed
    }
    // It begins in a later turn. In this one, many requests with a document that is known could begin.
    const expectedMs = lastMs.get(prepared.operation) ?? 0
    if (expectedMs > LONG_EXECUTION_MS) turns.charge(caller.clientId, expectedMs)
    return req.deadline.runShared(() => coalesce(req.bodyText ?? req.originalUrl, shared))
  }

  return async (params: GraphQLParams, req: Request, res: Response): Promise<Result | Subscription> => {
    const prepared = prepare(params, req)
    const { cost, transport } = prepared
    if (keyLimiter && cost.requested > 1) consumeQuota(keyLimiter, req, res, cost.requested - 1)
    if (transport) return subscribe(prepared, transport, req, res)
    return { cost, ...(await run(prepared, req)) }
  }
}
