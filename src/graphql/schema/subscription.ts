import { type Animal, filterKey, parseCursor, toCursor } from '../../pets/animal.ts'
import { invalidArgument } from '../../errors.ts'
import { AnimalEdge, DECIMAL_INT64, Status } from './animal.ts'
import { builder, type GraphQLContext } from './builder.ts'
import type { Edge } from './connection.ts'
import { FilterArgs } from './list-query.ts'

/** The events of a subscription. It keeps a position, and nothing that was read. */
export type CreatedEdges = Awaited<ReturnType<typeof subscribeToCreated>>

interface CreatedArgs {
  after?: string | null | undefined
  status?: unknown
  categoryId?: unknown
}

builder.subscriptionFields((t) => ({
  petCreated: t.field({
    type: AnimalEdge,
    description:
      'Every animal that is added, oldest first, on every instance. At least once: after a break, continue with the last cursor, and merge by id. Error INVALID_ARGUMENT for a cursor from another list.',
    args: {
      after: t.arg.string({
        description:
          'Only animals that were added after this cursor: a `cursor` of this subscription, or a `liveCursor`. Without it: from now on. The header `Last-Event-ID` takes precedence.',
      }),
      status: t.arg({ type: Status, description: 'Only animals with this status.' }),
      categoryId: t.arg.id({ description: `Only animals of this category: ${DECIMAL_INT64}.` }),
    },
    extensions: { cost: 10, scope: 'pets:read' },
    subscribe: (_root, args, context) => subscribeToCreated(args, context),
    resolve: (edge) => edge,
  }),
}))

async function subscribeToCreated(args: CreatedArgs, context: GraphQLContext) {
  if (!context.subscriber) throw new Error('Only subscriptions have a subscriber')
  const { clientId, signal } = context.subscriber
  const { data: filter, error } = FilterArgs.safeParse(args)
  if (error) throw invalidArgument(error.issues)
  const key = filterKey(filter)
  const position = await positionOf(args.after, key, context)
  const follower = context.feed.follow(position, { ...filter, clientId, signal })
  return {
    /** The next edges, oldest first, as soon as there are some. */
    async next(): Promise<Edge<Animal>[]> {
      return (await follower.next()).map((node) => ({ node, cursor: () => toCursor(node.id, key) }))
    },
    /** `next` continues after this edge. */
    continueAfter: ({ node }: Edge<Animal>) => void (follower.position = node.id),
    /** graphql-js requires an iterable, and does not iterate it. */
    [Symbol.asyncIterator](): AsyncIterator<Edge<Animal>> {
      throw new Error('The events are read by pages')
    },
  }
}

/**
 * The id after which a stream begins. On a retry the body is the same as before, so the header takes precedence. A closure
 * in subscribeToCreated would keep `after`, and with it the text of the whole document, for as long as the stream is open.
 */
async function positionOf(after: CreatedArgs['after'], filter: string, context: GraphQLContext): Promise<bigint> {
  const { deadline, feed, subscriber } = context
  const argument = subscriber?.lastEventId ? 'Last-Event-ID' : 'after'
  const cursor = subscriber?.lastEventId ?? after
  if (cursor == null) return deadline.run(() => feed.settledId())
  const position = parseCursor(cursor, filter, argument)
  await deadline.run(() => feed.requireAssigned(position, argument, 'last'))
  return position
}
