import type { Request, Response } from 'express'
import type { DocumentNode, ExecutionResult, OperationDefinitionNode } from 'graphql'
import { createSourceEventStream, getVariableValues, GraphQLError } from 'graphql'
import type { Animals } from '../../animals/service.ts'
import { keyOf } from '../../auth/authenticate.ts'
import { toApiError } from '../../errors.ts'
import type { Feed } from '../../feed/feed.ts'
import { callerOf } from '../../http/request.ts'
import type { LogError } from '../../telemetry/error-log.ts'
import { toGraphQLError } from '../errors.ts'
import type { GraphQLContext } from '../schema/builder.ts'
import { schema } from '../schema/index.ts'
import type { CreatedEdges } from '../schema/subscription.ts'
import { createFormats } from './events.ts'
import { toSelection } from './selection.ts'
import type { Stream, Streams } from './streams.ts'
import { requireTransport, type Transport } from './transports.ts'

/** Events that are ready are written together, up to this size: it is what an unread stream costs. */
const PART_BYTES = 16 * 1024

export interface SubscribeDependencies {
  animals: Animals
  feed: Feed
  streams: Streams
  logError: LogError
}

/** Consecutive events of a stream, which are written together. */
export interface Part {
  data: Buffer
  events: number
}

/** A subscription that has begun. */
export interface Subscription {
  stream: Stream
  transport: Transport
  /** The next events, as soon as there are some. @throws when the stream ends */
  nextPart(): Promise<Part>
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
  const formatOf = createFormats()

  /** What does not fit into a part is forgotten, and read again when the client has taken the part. */
  function createNextPart(edges: CreatedEdges, selection: string, transport: Transport, req: Request) {
    const format = formatOf(selection, transport)
    const toJson = ({ data, errors }: ExecutionResult): string => {
      const formatted = errors?.map((error) => toGraphQLError(error, undefined, logError, req))
      return JSON.stringify({ errors: formatted, data })
    }
    return async (): Promise<Part> => {
      const page = await edges.next()
      const context: GraphQLContext = { animals, feed, caller: undefined, deadline: req.deadline.fork() }
      const texts: string[] = []
      let size = 0
      for (const edge of page) {
        const text = format(edge, context, toJson)
        size += Buffer.byteLength(text)
        if (size > PART_BYTES && texts.length > 0) break
        texts.push(text)
        edges.continueAfter(edge)
      }
      return { data: Buffer.from(texts.join('')), events: texts.length }
    }
  }

  return async (document, operation, variables, req, res) => {
    const { coerced = {} } = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
    const selection = selectionOrError(document, operation, coerced)
    if (selection instanceof GraphQLError) return { errors: [selection] }
    const caller = callerOf(req)
    const stream = streams.open(res, caller, keyOf(req))
    const subscriber = { clientId: caller.clientId, signal: stream.signal, lastEventId: lastEventIdOf(req) }
    const source = await createSourceEventStream({
      schema,
      document,
      operationName: operation.name?.value,
      variableValues: variables,
      contextValue: { animals, feed, caller: undefined, deadline: req.deadline, subscriber } satisfies GraphQLContext,
    })
    if (!(Symbol.asyncIterator in source)) return throwUnlessInvalid(source, req)
    const transport = requireTransport(req)
    const edges = source as CreatedEdges // of the only subscription field
    return { stream, transport, nextPart: createNextPart(edges, selection, transport, req) }
  }
}

function selectionOrError(...args: Parameters<typeof toSelection>): string | GraphQLError {
  try {
    return toSelection(...args)
  } catch (error) {
    if (error instanceof GraphQLError) return error
    throw error
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
