import type { Animal, PetStatus } from '../../animals/animal.ts'
import { parseCursor, toCursor } from '../../animals/cursor.ts'
import { AnimalEdge, Status } from './animal.ts'
import { builder, type GraphQLContext, requireSubscriber } from './builder.ts'

/** An animal and its cursor, as AnimalEdge takes them. */
export interface CreatedEdge {
  node: Animal
  cursor(): string
}

/** Animals that are sent together. */
export interface CreatedPage {
  animals: Animal[]
  toEdge(animal: Animal): CreatedEdge
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
    // The type is of what `resolve` gets: the results of a page are executed one edge at a time (subscribe.ts).
    subscribe: (_root, args, context) => subscribeToCreated(args, context) as Promise<AsyncIterable<never>>,
    resolve: (edge: CreatedEdge) => edge,
  }),
}))

async function subscribeToCreated(args: CreatedArgs, context: GraphQLContext): Promise<AsyncIterable<CreatedPage>> {
  const { signal } = requireSubscriber(context)
  const status = args.status ?? undefined
  const position = positionOf(args, context) ?? (await context.deadline.run(() => context.feed.settledId()))
  return toPages(context.feed.follow(position, status, signal), status)
}

/** The id after which a stream begins. On a retry the body is the same as before, so the header takes precedence. */
function positionOf({ after, status }: CreatedArgs, context: GraphQLContext): bigint | undefined {
  const { lastEventId } = requireSubscriber(context)
  if (lastEventId) return parseCursor(lastEventId, status ?? undefined, 'Last-Event-ID')
  return after == null ? undefined : parseCursor(after, status ?? undefined, 'after')
}

async function* toPages(pages: AsyncIterable<Animal[]>, status: PetStatus | undefined): AsyncGenerator<CreatedPage> {
  const toEdge = (node: Animal): CreatedEdge => ({ node, cursor: () => toCursor(node.id, status) })
  for await (const animals of pages) yield { animals, toEdge }
}
