import type { Request, Response } from 'express'
import { createSourceEventStream, type DocumentNode, type ExecutionResult, type OperationDefinitionNode } from 'graphql'
import type { Feed } from '../../animals/feed.ts'
import type { Animals } from '../../animals/service.ts'
import { toApiError } from '../../errors.ts'
import { callerOf } from '../../http/request.ts'
import type { LogError } from '../../telemetry/error-log.ts'
import { toGraphQLError } from '../errors.ts'
import type { GraphQLContext } from '../schema/builder.ts'
import { schema } from '../schema/index.ts'
import type { CreatedEdge } from '../schema/subscription.ts'
import { createResults } from './results.ts'
import type { Stream, Streams } from './streams.ts'

export interface SubscribeDependencies {
  animals: Animals
  feed: Feed
  streams: Streams
  logError: LogError
}

/** A subscription that has begun. */
export interface Subscription {
  stream: Stream
  /** The result of each event as JSON, with the cursor of the event. Ends when the stream ends. */
  results: AsyncIterable<{ json: string; cursor: string }>
}

/** Begins a valid subscription. */
export type Subscribe = (
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
  req: Request,
  res: Response,
) => Promise<Subscription | ExecutionResult>

/** @returns begins a subscription, or returns the errors of its arguments */
export function createSubscribe({ animals, feed, streams, logError }: SubscribeDependencies): Subscribe {
  const openResults = createResults()

  return async (document, operation, variables, req, res) => {
    const stream = streams.open(res, callerOf(req).clientId)
    const { deadline } = req
    const subscriber = { signal: stream.signal, lastEventId: lastEventIdOf(req) }
    const source = await createSourceEventStream({
      schema,
      document,
      operationName: operation.name?.value,
      variableValues: variables,
      contextValue: { animals, feed, caller: undefined, deadline, subscriber } satisfies GraphQLContext,
    })
    if (!(Symbol.asyncIterator in source)) return throwUnlessInvalid(source, req)

    const format = ({ data, errors }: ExecutionResult): string => {
      const formatted = errors?.map((error) => toGraphQLError(error, undefined, logError, req))
      return JSON.stringify({ errors: formatted, data })
    }
    const toJson = openResults({ document, operation, variables }, format, stream.signal)
    async function* results() {
      for await (const edge of source as AsyncIterable<CreatedEdge>) {
        // of the only subscription field
        const context: GraphQLContext = { animals, feed, caller: undefined, deadline: deadline.fork() }
        yield { json: await toJson(edge, context), cursor: edge.cursor() }
      }
    }
    return { stream, results: results() }
  }
}

/** An empty header counts as none, since a client that has received no event has no id. */
function lastEventIdOf({ headers }: Request): string | undefined {
  const value = headers['last-event-id']
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** @returns the errors of the arguments; throws what has another cause, and an error of the header */
function throwUnlessInvalid(result: ExecutionResult, req: Request): ExecutionResult {
  const cause = result.errors?.[0]?.originalError
  const error = cause && toApiError(cause)
  if (error && (error.code !== 'INVALID_ARGUMENT' || lastEventIdOf(req) !== undefined)) throw error
  return result
}
