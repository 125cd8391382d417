import type { Request, Response } from 'express'
import { createSourceEventStream, type ExecutionResult, GraphQLError, type GraphQLSchema } from 'graphql'
import type { Resource } from '../../store/resource.ts'
import { keyHashOf } from '../../auth/authenticate.ts'
import { toApiError } from '../../errors.ts'
import { callerOf } from '../../http/request.ts'
import type { RequestedOperation, GraphQLDependencies, Plugin } from '../context.ts'
import { GraphQLRequestError } from '../errors.ts'
import type { GraphQLContext } from '../schema/builder.ts'
import type { CreatedEdges } from '../schema/resolvers.ts'
import { createEventFormat, type Selection, toSelection } from './events.ts'
import { requireTransport, type Transport } from './transports.ts'

/** Events that are ready are written together, up to this size in bytes, which is the memory of an unread stream. */
export const PART_BYTES = 16 * 1024

type Dependencies = Pick<GraphQLDependencies, 'services' | 'streams' | 'observe' | 'plugins'>

/**
 * Begins subscriptions, and puts each into the context. If the plugin returned an iterable, Yoga would read each event for
 * each stream, where this service reads pages of events, and executes an event once for all streams.
 */
export function useSubscriptions(schema: GraphQLSchema, dependencies: Dependencies): Plugin {
  const subscribe = createSubscribe(schema, dependencies)
  return {
    onSubscribe({ context, extendContext, setSubscribeFn }) {
      const { operation, req, res } = context
      setSubscribeFn(async ({ document, variableValues: variables }) => {
        const request = { document, operation, variables }
        extendContext({ subscription: await subscribe(request, requireTransport(req), req, res) })
        return {}
      })
    },
  }
}

/** @returns a function that begins a valid subscription. It throws ApiError (GraphQLRequestError for arguments) */
export function createSubscribe(schema: GraphQLSchema, { services, streams, observe, plugins = [] }: Dependencies) {
  const format = createEventFormat(schema, observe)

  /**
   * @returns a function that waits for the next events, and returns a part. Events that do not fit into the part are
   *   dropped, and read again when the client has taken the part
   */
  function createNextPart(edges: CreatedEdges<Resource>, selection: Selection, transport: Transport, req: Request) {
    return async () => {
      const texts: string[] = []
      let size = 0
      for (const edge of await edges.next()) {
        const text = format(selection, transport, edge, req)
        size += Buffer.byteLength(text)
        if (size > PART_BYTES && texts.length > 0) break
        texts.push(text)
        edges.continueAfter(edge)
      }
      return { data: Buffer.from(texts.join('')), events: texts.length }
    }
  }

  return async (request: RequestedOperation, transport: Transport, req: Request, res: Response) => {
    const { document, operation, variables } = request
    const selection = toSelection(request, plugins.length > 0)
    const caller = callerOf(req)
    const stream = streams.open(res, caller, keyHashOf(req))
    const lastEventId = String(req.headers['last-event-id'] ?? '') || undefined // empty if a client has received no event
    const subscriber = { clientId: caller.clientId, signal: stream.signal, lastEventId }
    const source = await createSourceEventStream({
      schema,
      document,
      operationName: operation.name?.value,
      variableValues: variables,
      contextValue: { services, caller: undefined, deadline: req.deadline, subscriber } satisfies GraphQLContext,
    })
    if (!(Symbol.asyncIterator in source)) throw causeOf(source)
    const edges = source as CreatedEdges<Resource> // every subscription field has `subscribeToCreated`
    return { stream, transport, nextPart: createNextPart(edges, selection, transport, req) }
  }
}

/** Why a subscription could not begin: its arguments, or another cause, such as `Last-Event-ID`. */
function causeOf({ errors = [] }: ExecutionResult): Error {
  const cause = errors[0]?.originalError
  const error = cause && !(cause instanceof GraphQLError) && toApiError(cause)
  if (error && (error.code !== 'INVALID_ARGUMENT' || error.fields?.[0]?.path[0] === 'Last-Event-ID')) return error
  return new GraphQLRequestError('INVALID_ARGUMENT', ...errors)
}
