import { z } from 'zod'
import { type Animal, DEFAULT_PAGE_SIZE, NewPet, PageSize, parseInt64, PetStatus } from '../../animals/animal.ts'
import { parseCursor, toCursor } from '../../animals/cursor.ts'
import { ApiError } from '../../errors.ts'
import { type AnimalConnection, builder, type ConnectionPage, requireCaller } from './builder.ts'
import '../cost.ts'

const Status = builder.enumType('PetStatus', {
  description: 'Availability of an animal, spelled as the REST contract spells it.',
  values: {
    available: { description: 'For sale.' },
    pending: { description: 'Promised to somebody, not handed over yet.' },
    sold: { description: 'No longer for sale.' },
  } satisfies Record<PetStatus, object>,
})

const AnimalType = builder.objectRef<Animal>('Animal').implement({
  description: 'An animal offered in the pet store.',
  fields: (t) => ({
    id: t.id({
      description: 'Assigned by the service: an int64 in decimal digits.',
      resolve: (animal) => animal.id.toString(),
    }),
    name: t.exposeString('name', { description: '1 to 255 characters, given back exactly as they were sent.' }),
    categoryId: t.id({
      description: 'The category that the animal belongs to: an int64 in decimal digits.',
      resolve: (animal) => animal.categoryId.toString(),
    }),
    status: t.expose('status', {
      type: Status,
      nullable: true,
      description: 'Null when none was given on creation.',
    }),
  }),
})

const PageInfo = builder.objectRef<ConnectionPage>('PageInfo').implement({
  description: 'Where a page lies in its list, as Relay has it.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether older animals follow.' }),
    hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Whether newer animals come before.' }),
    startCursor: t.string({
      nullable: true,
      description: 'Cursor of the first edge, for `before`; null on an empty page.',
      resolve: ({ edges }) => edges[0]?.cursor() ?? null,
    }),
    endCursor: t.string({
      nullable: true,
      description: 'Cursor of the last edge, for `after`; null on an empty page.',
      resolve: ({ edges }) => edges.at(-1)?.cursor() ?? null,
    }),
  }),
})

const AnimalEdge = builder.objectRef<ConnectionPage['edges'][number]>('AnimalEdge').implement({
  description: 'An animal and its place in the list.',
  fields: (t) => ({
    cursor: t.string({
      description: 'Opaque; good only for the same `status` filter.',
      resolve: ({ cursor }) => cursor(),
    }),
    node: t.expose('node', { type: AnimalType, description: 'The animal.' }),
  }),
})

const Connection = builder.objectRef<AnimalConnection>('AnimalConnection').implement({
  description: 'A page of animals, newest first.',
  fields: (t) => ({
    nodes: t.field({
      type: [AnimalType],
      description: 'The animals of the page, without their cursors.',
      resolve: async ({ page }) => (await page()).edges.map((edge) => edge.node),
    }),
    edges: t.field({
      type: [AnimalEdge],
      description: 'The animals of the page with their cursors.',
      resolve: async ({ page }) => (await page()).edges,
    }),
    pageInfo: t.field({ type: PageInfo, description: 'Where the page lies.', resolve: ({ page }) => page() }),
    totalCount: t.int({
      description:
        'How many animals pass the filter, on all pages. Counted only when selected, in time that grows with the answer; costs 10.',
      extensions: { cost: 10 },
      resolve: ({ count }) => count(),
    }),
  }),
})

const NewPetInput = builder.inputType('NewPet', {
  description: 'An animal to add.',
  fields: (t) => ({
    name: t.string({ required: true, description: '1 to 255 characters, not only white space.' }),
    categoryId: t.id({ required: true, description: 'An int64 in decimal digits.' }),
    status: t.field({ type: Status, description: 'None is stored when left out or null.' }),
  }),
})

const ListArgs = z.object({
  first: PageSize.nullish(),
  last: PageSize.nullish(),
  status: PetStatus.nullish().transform((status) => status ?? undefined),
  after: z.string().nullish(),
  before: z.string().nullish(),
})

/** Calls a function at the first use only. */
function once<T>(create: () => T): () => T {
  let result: { value: T } | undefined
  return () => (result ??= { value: create() }).value
}

/** Animals that a page may hold: `first`, else `last`, else the default. Explicit null counts as not given. */
function pageSizeOf({ first, last }: { first?: number | null | undefined; last?: number | null | undefined }): number {
  return first ?? last ?? DEFAULT_PAGE_SIZE
}

builder.queryType({
  description: 'Reading the store.',
  fields: (t) => ({
    pets: t.field({
      type: Connection,
      description:
        'Animals, newest first, a page at a time: forward with first and after, backward with last and before. A page of n costs n. Error INVALID_ARGUMENT for a size out of range, or for a cursor from another list.',
      args: {
        status: t.arg({ type: Status, description: 'Only animals with this status.' }),
        first: t.arg.int({ description: 'Page size from the start, 1 to 100; 20 when neither is given.' }),
        after: t.arg.string({ description: 'Only animals after this cursor.' }),
        last: t.arg.int({ description: 'Page size from the end, 1 to 100. Not together with `first`.' }),
        before: t.arg.string({ description: 'Only animals before this cursor.' }),
      },
      // A size out of range is rejected before anything is read.
      extensions: { cost: (args) => (PageSize.safeParse(pageSizeOf(args)).success ? pageSizeOf(args) : 1) },
      resolve(_root, args, { animals, deadline }): AnimalConnection {
        const { first, last, status, after, before } = ListArgs.parse(args)
        if (first && last) throw new ApiError('INVALID_ARGUMENT', 'first, last: give one of them')
        const olderThan = after == null ? undefined : parseCursor(after, status, 'after')
        const newerThan = before == null ? undefined : parseCursor(before, status, 'before')
        const limit = pageSizeOf({ first, last })
        const backward = Boolean(last)

        async function read(): Promise<ConnectionPage> {
          const query = { status, limit, olderThan, newerThan, backward }
          const page = await deadline.run(() => animals.list(query))
          return {
            edges: page.animals.map((node) => ({ node, cursor: () => toCursor(node.id, status) })),
            hasNextPage: backward ? newerThan !== undefined : page.hasMore,
            hasPreviousPage: backward ? page.hasMore : olderThan !== undefined,
          }
        }
        return { page: once(read), count: once(() => deadline.run(() => animals.count(status))) }
      },
    }),
    pet: t.field({
      type: AnimalType,
      nullable: true,
      description: 'One animal; costs 1. Null, with the error NOT_FOUND, when none has this id.',
      args: { id: t.arg.id({ required: true, description: 'An int64 in decimal digits.' }) },
      extensions: { cost: 1 },
      resolve: (_root, { id }, { animals, deadline }) => deadline.run(() => animals.get(id)),
    }),
  }),
})

builder.mutationType({
  description: 'Changing the store.',
  fields: (t) => ({
    createPet: t.field({
      type: AnimalType,
      description:
        'Adds an animal and returns it with its id; costs 10. Returned means stored. Errors: INVALID_ARGUMENT names every field that is wrong; UNAVAILABLE, nothing was added; DEADLINE_EXCEEDED, that is unknown: retry with the same idempotencyKey.',
      args: {
        input: t.arg({ type: NewPetInput, required: true, description: 'The animal.' }),
        idempotencyKey: t.arg.string({
          description:
            'Makes a retry safe: for 24 hours the same key with the same input returns the first animal instead of adding another. 1 to 255 visible ASCII characters.',
        }),
      },
      extensions: { cost: 10 },
      async resolve(_root, { input, idempotencyKey }, context) {
        const pet = NewPet.parse({
          ...input,
          // What is no int64 stays as it is, for the contract to refuse in its own words.
          categoryId: parseInt64(input.categoryId) ?? input.categoryId,
          status: input.status ?? undefined,
        })
        const once =
          idempotencyKey == null ? undefined : { clientId: requireCaller(context).clientId, key: idempotencyKey }
        const { animals, deadline } = context
        const created = await deadline.run(() => animals.create(pet, once), { mayHaveExecuted: true })
        return created.animal
      },
    }),
  }),
})
