import type { FieldMap, InputFieldMap } from '@pothos/core'
import {
  type Animal,
  NAME_LENGTH,
  NewPet,
  PetStatus,
  filterKey,
  toCursor,
  type PetQuery as ListQuery,
} from '../../pets/animal.ts'
import { PAGE_SIZE, PageSize } from '../../store/contract.ts'
import { builder, type GraphQLContext, type Types } from './builder.ts'
import { pageSizeOf, toInt64, toListQuery } from './list-query.ts'
import { type ConnectionPage, type Edge, lazy, PageInfo, selectsField } from './connection.ts'

export const DECIMAL_INT64 = 'an int64 in decimal digits'
const NAME_SIZE = `${NAME_LENGTH.min} to ${NAME_LENGTH.max} characters`

export const Status = builder.enumType('PetStatus', {
  description: 'Availability of an animal, spelled as in the REST API.',
  values: {
    available: { description: 'Available.' },
    pending: { description: 'Pending.' },
    sold: { description: 'Sold.' },
  } satisfies Record<PetStatus, object>,
})

/** A member of NewPet: its field of type Animal, its field of input NewPet, and the input as the contract takes it. */
interface PetField {
  output(t: PothosSchemaTypes.ObjectFieldBuilder<Types, Animal>): FieldMap[string]
  input(t: PothosSchemaTypes.InputFieldBuilder<Types, 'InputObject'>): InputFieldMap[string]
  toContract?(value: unknown): unknown
}

const PET_FIELDS: Record<keyof NewPet, PetField> = {
  name: {
    output: (t) => t.exposeString('name', { description: `${NAME_SIZE}, returned exactly as they were sent.` }),
    input: (t) => t.string({ required: true, description: `${NAME_SIZE}, not only white space.` }),
  },
  categoryId: {
    output: (t) =>
      t.id({
        description: `The category that the animal belongs to: ${DECIMAL_INT64}.`,
        resolve: ({ categoryId }) => categoryId.toString(),
      }),
    input: (t) => t.id({ required: true, description: `The category: ${DECIMAL_INT64}.` }),
    toContract: toInt64,
  },
  status: {
    output: (t) => t.expose('status', { type: Status, nullable: true, description: 'Null: no status.' }),
    input: (t) => t.field({ type: Status, description: 'Omitted or null: no status.' }),
  },
}

function mapPetFields<T>(select: (field: PetField, name: keyof NewPet) => T): Record<keyof NewPet, T> {
  const names = Object.keys(PET_FIELDS) as (keyof NewPet)[] // the keys of the record's own type
  return Object.fromEntries(names.map((name) => [name, select(PET_FIELDS[name], name)])) as Record<keyof NewPet, T> // all
}

export const AnimalType = builder.objectRef<Animal>('Animal').implement({
  description: 'An animal offered in the pet store.',
  fields: (t) => ({
    id: t.id({ description: `Assigned by the service: ${DECIMAL_INT64}.`, resolve: ({ id }) => id.toString() }),
    ...mapPetFields(({ output }) => output(t)),
  }),
})

/** An input as the contract takes it. */
export function toContract(input: Partial<Record<keyof NewPet, unknown>>): unknown {
  return mapPetFields(({ toContract: convert = (value) => value }, name) => convert(input[name]) ?? undefined)
}

export const NewPetInput = builder.inputType('NewPet', {
  description: 'An animal to add.',
  fields: (t) => mapPetFields(({ input }) => input(t)),
})

export const AnimalEdge = builder.objectRef<Edge<Animal>>('AnimalEdge').implement({
  description: 'An animal and its cursor.',
  fields: (t) => ({
    cursor: t.string({
      description: 'Opaque; valid only with the same filter.',
      resolve: ({ cursor }) => cursor(),
    }),
    node: t.expose('node', { type: AnimalType, description: 'The animal.' }),
  }),
})

/** A list: each part of it is read, once, when a field of it is selected. */
interface AnimalList {
  page(): Promise<ConnectionPage<Animal>>
  count(): Promise<number>
  liveCursor(): Promise<string>
}

const AnimalConnection = builder.objectRef<AnimalList>('AnimalConnection').implement({
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
    pageInfo: t.field({ type: PageInfo, description: 'Position of the page.', resolve: ({ page }) => page() }),
    totalCount: t.int({
      description:
        'The number of animals that match the filter, on all pages. Counted only when selected, in time that grows with the number.',
      extensions: { cost: 10 },
      resolve: ({ count }) => count(),
    }),
    liveCursor: t.string({
      description:
        'For `petCreated(after:)` with the same filter: the animals that are added after this page was read. A few of the page may come again: merge them by id.',
      extensions: { cost: 1 },
      resolve: ({ liveCursor }) => liveCursor(),
    }),
  }),
})

async function readPage({ animals, deadline, feed }: GraphQLContext, query: ListQuery) {
  const { newerThan } = query
  const page = await deadline.run(() => animals.list(query))
  const filter = filterKey(query)
  // Only `before` needs the check: every animal is after a cursor that is too new, so a page `after` it misses nothing.
  if (newerThan && !page.items.length) await deadline.run(() => feed.requireAssigned(newerThan, 'before', 'highest'))
  return {
    edges: page.items.map((node) => ({ node, cursor: () => toCursor(node.id, filter) })),
    hasNextPage: query.backward ? newerThan !== undefined : page.hasMore,
    hasPreviousPage: query.backward ? page.hasMore : query.olderThan !== undefined,
  }
}

builder.queryFields((t) => ({
  pets: t.field({
    type: AnimalConnection,
    description:
      'Animals, newest first, in pages: forward with first and after, backward with last and before. A page of n costs n. Error INVALID_ARGUMENT for a size out of range, or for a cursor from another list.',
    args: {
      status: t.arg({ type: Status, description: 'Only animals with this status.' }),
      categoryId: t.arg.id({ description: `Only animals of this category: ${DECIMAL_INT64}.` }),
      first: t.arg.int({
        description: `Page size from the start, ${PAGE_SIZE.min} to ${PAGE_SIZE.max}; ${PAGE_SIZE.default} without \`first\` and \`last\`.`,
      }),
      after: t.arg.string({ description: 'Only animals after this cursor.' }),
      last: t.arg.int({
        description: `Page size from the end, ${PAGE_SIZE.min} to ${PAGE_SIZE.max}. Not together with \`first\`.`,
      }),
      before: t.arg.string({ description: 'Only animals before this cursor.' }),
    },
    // A size out of range is rejected before anything is read.
    extensions: {
      cost: (args) => (PageSize.safeParse(pageSizeOf(args)).success ? pageSizeOf(args) : 1),
      scope: 'pets:read',
    },
    resolve(_root, args, context, info) {
      const query = toListQuery(args)
      const { animals, deadline, feed } = context
      const settledId = lazy(() => deadline.run(() => feed.settledId()))
      return {
        page: lazy(async () => {
          // It is read before the page, so that no animal is between them. The field `liveCursor` has its error.
          const onPrimary = selectsField(info, 'liveCursor')
          if (onPrimary) await settledId().catch(() => {})
          return readPage(context, { ...query, onPrimary })
        }),
        count: lazy(() => deadline.run(() => animals.count(query))),
        liveCursor: async () => toCursor(await settledId(), filterKey(query)),
      }
    },
  }),
  pet: t.field({
    type: AnimalType,
    nullable: true,
    description: 'One animal. Null, with the error NOT_FOUND, when no animal has this id.',
    args: { id: t.arg.id({ required: true, description: 'An int64 in decimal digits.' }) },
    extensions: { cost: 1, scope: 'pets:read' },
    resolve: (_root, { id }, { animals, deadline }) => deadline.run(() => animals.get(id)),
  }),
}))
