import type { Animal, PetStatus } from '../../animals/animal.ts'
import { parseCursor, toCursor } from '../../animals/cursor.ts'
import { AnimalEdge, Status } from './animal.ts'
import { builder, type GraphQLContext } from './builder.ts'
import type { Edge } from './connection.ts'

/** The events of a subscription. It keeps a position, and nothing that was read. */
export type CreatedEdges = Awaited<ReturnType<typeof subscribeToCreated>>

interface CreatedArgs {
  after?: string | null | undefined
  status?: PetStatus | null | undefined
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
    },
    extensions: { cost: 10 },
    subscribe: (_root, args, context) => subscribeToCreated(args, context),
    resolve: (edge) => edge,
  }),
}))

async function subscribeToCreated({ after, ...args }: CreatedArgs, { deadline, feed, subscriber }: GraphQLContext) {
  if (!subscriber) throw new Error('Only subscriptions have a subscriber')
  const { clientId, signal, lastEventId } = subscriber
  const status = args.status ?? undefined
  const follower = feed.follow(await findPosition(), { status, clientId, signal })

  async function findPosition(): Promise<bigint> {
    // On a retry the body is the same as before, so the header takes precedence.
    if (lastEventId) return parseCursor(lastEventId, status, 'Last-Event-ID')
    return after == null ? deadline.run(() => feed.settledId()) : parseCursor(after, status, 'after')
  }

  return {
    /** The next edges, oldest first, as soon as there are some. */
    async next(): Promise<Edge<Animal>[]> {
      return (await follower.next()).map((node) => ({ node, cursor: () => toCursor(node.id, status) }))
    },
    /** `next` continues after this edge. */
    continueAfter: ({ node }: Edge<Animal>) => void (follower.position = node.id),
    /** graphql-js requires an iterable, and does not iterate it. */
    [Symbol.asyncIterator](): AsyncIterator<Edge<Animal>> {
      throw new Error('The events are read by pages')
    },
  }
}
