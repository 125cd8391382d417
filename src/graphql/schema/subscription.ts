import type { Animal, PetStatus } from '../../animals/animal.ts'
import { parseCursor, toCursor } from '../../animals/cursor.ts'
import { AnimalEdge, Status } from './animal.ts'
import { builder, type GraphQLContext, requireSubscriber } from './builder.ts'

/** An animal and its cursor, as AnimalEdge takes them. */
export interface CreatedEdge {
  node: Animal
  cursor(): string
}

/** The events of a subscription. It keeps a position, and nothing that was read. */
export interface CreatedEdges extends AsyncIterable<CreatedEdge> {
  /** The next edges, oldest first, as soon as there are some. */
  next(): Promise<CreatedEdge[]>
  /** `next` continues after this edge. */
  continueAfter(edge: CreatedEdge): void
}

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

async function subscribeToCreated(args: CreatedArgs, context: GraphQLContext): Promise<CreatedEdges> {
  const { clientId, signal } = requireSubscriber(context)
  const status = args.status ?? undefined
  const position = positionOf(args, context) ?? (await context.deadline.run(() => context.feed.settledId()))
  const follower = context.feed.follow(position, { status, clientId, signal })
  const toEdge = (node: Animal): CreatedEdge => ({ node, cursor: () => toCursor(node.id, status) })
  const edges: CreatedEdges = {
    next: async () => (await follower.next()).map(toEdge),
    continueAfter: ({ node }) => void (follower.position = node.id),
    async *[Symbol.asyncIterator]() {
      for (;;) {
        for (const edge of await edges.next()) {
          edges.continueAfter(edge)
          yield edge
        }
      }
    },
  }
  return edges
}

/** The id after which a stream begins. On a retry the body is the same as before, so the header takes precedence. */
function positionOf({ after, status }: CreatedArgs, context: GraphQLContext): bigint | undefined {
  const { lastEventId } = requireSubscriber(context)
  if (lastEventId) return parseCursor(lastEventId, status ?? undefined, 'Last-Event-ID')
  return after == null ? undefined : parseCursor(after, status ?? undefined, 'after')
}
