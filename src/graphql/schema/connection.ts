import type { ObjectRef } from '@pothos/core'
import type { Item, Resource } from '../../store/resource.ts'
import type { Builder, ConnectionPage, Types } from './builder.ts'

export interface Edge<Node> {
  node: Node
  cursor(): string
}

/** A list. Its page, its count and its live cursor are each read at most once, and only if a selected field needs them. */
export interface Connection<Node> {
  page(): Promise<ConnectionPage<Edge<Node>>>
  count(): Promise<number>
  liveCursor(): Promise<string>
}

export function addPageInfo(builder: Builder): void {
  builder.objectType('PageInfo', {
    description: 'Relay PageInfo.',
    fields: (t) => ({
      hasNextPage: t.exposeBoolean('hasNextPage', { description: 'Whether older items follow.' }),
      hasPreviousPage: t.exposeBoolean('hasPreviousPage', { description: 'Whether newer items come before.' }),
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
}

/** Adds the types of a list: an edge and a connection. @param subscription the field of Subscription for new items */
export function addConnection<R extends Resource>(
  builder: Builder,
  { name: items, noun }: R,
  node: ObjectRef<Types, Item<R>>,
  subscription: string,
) {
  const article = /^[aeiou]/.test(noun) ? 'An' : 'A'
  const EdgeType = builder.objectRef<Edge<Item<R>>>(`${node.name}Edge`).implement({
    description: `${article} ${noun} and its cursor.`,
    fields: (t) => ({
      cursor: t.string({ description: 'Opaque; valid only with the same filter.', resolve: ({ cursor }) => cursor() }),
      node: t.expose('node', { type: node, description: `The ${noun}.` }),
    }),
  })
  const ConnectionType = builder.objectRef<Connection<Item<R>>>(`${node.name}Connection`).implement({
    description: `A page of ${items}, newest first.`,
    fields: (t) => ({
      nodes: t.field({
        type: [node],
        description: `The ${items} of the page, without their cursors.`,
        resolve: async ({ page }) => (await page()).edges.map((edge) => edge.node),
      }),
      edges: t.field({
        type: [EdgeType],
        description: `The ${items} of the page with their cursors.`,
        resolve: async ({ page }) => (await page()).edges,
      }),
      pageInfo: t.field({ type: 'PageInfo', description: 'Position of the page.', resolve: ({ page }) => page() }),
      totalCount: t.int({
        description: `The number of ${items} that match the filter, on all pages. Counted only when selected, in time that grows with the number.`,
        extensions: { cost: 10 },
        resolve: ({ count }) => count(),
      }),
      liveCursor: t.string({
        description: `For \`${subscription}(after:)\` with the same filter: the ${items} that are added after this page was read. A few of the page may come again: merge them by id.`,
        extensions: { cost: 1 },
        resolve: ({ liveCursor }) => liveCursor(),
      }),
    }),
  })
  return { EdgeType, ConnectionType }
}
