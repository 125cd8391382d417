import type { Request, Response } from 'express'
import { createSourceEventStream, type DocumentNode, type ExecutionResult, type OperationDefinitionNode } from 'graphql'
import type { Feed } from '../../feed/feed.ts'
import type { Animals } from '../../animals/service.ts'
import { keyOf } from '../../auth/authenticate.ts'
import { toApiError } from '../../errors.ts'
import { callerOf } from '../../http/request.ts'
import type { LogError } from '../../telemetry/error-log.ts'
import { toGraphQLError } from '../errors.ts'
import type { GraphQLContext } from '../schema/builder.ts'
import { schema } from '../schema/index.ts'
import type { CreatedPage } from '../schema/subscription.ts'
import { createParts, type Part } from './parts.ts'
import { createResults } from './results.ts'
import type { Stream, Streams } from './streams.ts'
import { requireTransport, type Transport } from './transports.ts'

export interface SubscribeDependencies {
  animals: Animals
  feed: Feed
  streams: Streams
  logError: LogError
}

/** A subscription that has begun. */
export interface Subscription {
  stream: Stream
  transport: Transport
  /** The results in the format of the transport. Ends when the stream ends. */
  parts: AsyncIterable<Part>
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
  const toParts = createParts()

  return async (document, operation, variables, req, res) => {
    const stream = streams.open(res, callerOf(req), keyOf(req))
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
    const { name, toJson } = openResults({ document, operation, variables }, format, stream.signal)
    const transport = requireTransport(req)
    const toTexts = ({ animals: created, toEdge }: CreatedPage) => {
      const context: GraphQLContext = { animals, feed, caller: undefined, deadline: deadline.fork() }
      return Promise.all(
        created.map(async (animal) => {
          const edge = toEdge(animal)
          return transport.result(await toJson(edge, context), edge.cursor())
        }),
      )
    }
    async function* parts() {
      // of the only subscription field
      for await (const page of source as AsyncIterable<CreatedPage>) {
        const key = `${name}:${transport.name}:${page.animals[0]?.id}:${page.animals.at(-1)?.id}`
        yield* await toParts(key, () => toTexts(page))
      }
    }
    return { stream, transport, parts: parts() }
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
