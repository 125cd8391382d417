import { getNamedType, type GraphQLObjectType, type GraphQLResolveInfo } from 'graphql'
import { collectSubfields } from 'graphql/execution/collectFields.js'
import { lazy } from '../../lib/lazy.ts'
import type { Item, Resource } from '../../store/resource.ts'
import { createListArguments, createToInput } from './arguments.ts'
import type { GraphQLContext } from './builder.ts'
import type { Connection, Edge } from './connection.ts'

export function resolveList<R extends Resource>(resource: R) {
  const { filterKey, toCursor, toPageRequest } = createListArguments(resource)

  return (_root: unknown, args: object, context: GraphQLContext, info: GraphQLResolveInfo): Connection<Item<R>> => {
    const query = toPageRequest(args)
    const { backward, newerThan, olderThan } = query
    const filter = filterKey(query)
    const { services, deadline } = context
    const { list, count, feed } = services.of(resource)
    const settledId = lazy(() => deadline.waitFor(() => feed.settledId()))
    return {
      page: lazy(async () => {
        // `liveCursor` is read before the page, so that no item is between them. The field itself reports its error.
        const onPrimary = selectsField(info, 'liveCursor')
        if (onPrimary) await settledId().catch(() => {})
        const { items, hasMore } = await deadline.waitFor(() => list({ ...query, onPrimary }))
        // Before a cursor that is too new, as after a restore, the page would be empty, and the client would miss new items.
        if (newerThan && !items.length)
          await deadline.waitFor(() => feed.requireAssigned(newerThan, 'before', 'highest'))
        return {
          edges: items.map((node) => ({ node, cursor: () => toCursor(node.id, filter) })),
          hasNextPage: backward ? newerThan !== undefined : hasMore,
          hasPreviousPage: backward ? hasMore : olderThan !== undefined,
        }
      }),
      count: lazy(() => deadline.waitFor(() => count(query))),
      liveCursor: async () => toCursor(await settledId(), filter),
    }
  }
}

/** Whether a field is selected on the object that is being resolved. */
function selectsField({ schema, fragments, variableValues, returnType, fieldNodes }: GraphQLResolveInfo, name: string) {
  const type = getNamedType(returnType) as GraphQLObjectType // only such types have connections
  const fields = collectSubfields(schema, fragments, variableValues, type, fieldNodes)
  return [...fields.values()].some(([node]) => node?.name.value === name)
}

/** @returns a resolver of one item by its id, which throws ApiError NOT_FOUND */
export function resolveItem<R extends Resource>(resource: R) {
  return (_root: unknown, { id }: { id: string }, { services, deadline }: GraphQLContext): Promise<Item<R>> =>
    deadline.waitFor(() => services.of(resource).get(id))
}

interface CreateArgs {
  input: object
  idempotencyKey?: string | null | undefined
}

/** @returns a resolver that creates an item. It throws the errors of the store's `create`, and INVALID_ARGUMENT */
export function resolveCreate<R extends Resource>(resource: R) {
  const toInput = createToInput(resource)
  return async (_root: unknown, args: CreateArgs, context: GraphQLContext): Promise<Item<R>> => {
    const { services, caller, deadline } = context
    if (!caller) throw new Error('Only mutations have a caller')
    const input = toInput(args.input)
    const key = args.idempotencyKey
    const idempotency = key == null ? undefined : { clientId: caller.clientId, key }
    const { create } = services.of(resource)
    return (await deadline.waitFor(() => create(input, idempotency, ['input']), { mayHaveExecuted: true })).item
  }
}

/** The source of a subscription's events. It keeps its position in the feed, and none of the items that it has read. */
export type CreatedEdges<R extends Resource> = Awaited<ReturnType<ReturnType<typeof subscribeToCreated<R>>>>

/** @returns a function that begins a subscription to the new items that match its filter */
export function subscribeToCreated<R extends Resource>(resource: R) {
  const { filterKey, toCursor, parseCursor, toFilter } = createListArguments(resource)

  /**
   * The id after which a stream begins. A client that reconnects sends the same body again, so the header takes precedence.
   * This function is separate, because a closure would keep `after`, and with it the document's text, as long as the stream
   * is open.
   */
  async function positionOf(after: string | null | undefined, key: string, context: GraphQLContext): Promise<bigint> {
    const { services, deadline, subscriber } = context
    const { feed } = services.of(resource)
    const { lastEventId } = subscriber ?? {}
    const argument = lastEventId === undefined ? 'after' : 'Last-Event-ID'
    // Parsed even if the header takes precedence: the stream keeps its variables, so `after` must be short.
    const bodyPosition = after == null ? undefined : parseCursor(after, key, 'after')
    const position = lastEventId === undefined ? bodyPosition : parseCursor(lastEventId, key, argument)
    if (position === undefined) return deadline.waitFor(() => feed.settledId())
    await deadline.waitFor(() => feed.requireAssigned(position, argument, 'last'))
    return position
  }

  return async (_root: unknown, args: { after?: string | null | undefined }, context: GraphQLContext) => {
    if (!context.subscriber) throw new Error('Only subscriptions have a subscriber')
    const filter = toFilter(args)
    const key = filterKey(filter)
    const position = await positionOf(args.after, key, context)
    const follower = context.services.of(resource).feed.follow(position, filter, context.subscriber)
    return {
      /** The next edges, oldest first, as soon as there are some. */
      async next(): Promise<Edge<Item<R>>[]> {
        return (await follower.next()).map((node) => ({ node, cursor: () => toCursor(node.id, key) }))
      },
      /** `next` continues after this edge. */
      continueAfter: ({ node }: Edge<Item<R>>) => void (follower.position = node.id),
      /** graphql-js requires an iterable, and does not iterate it. */
      [Symbol.asyncIterator](): AsyncIterator<Edge<Item<R>>> {
        throw new Error('The events are read by pages')
      },
    }
  }
}
