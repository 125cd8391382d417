import { type GraphQLResolveInfo, Kind, type SelectionSetNode } from 'graphql'
import { builder } from './builder.ts'

export interface Edge<Node> {
  node: Node
  cursor(): string
}

export interface ConnectionPage<Node> {
  edges: Edge<Node>[]
  hasNextPage: boolean
  hasPreviousPage: boolean
}

/** Relay's PageInfo, for every connection. */
export const PageInfo = builder.objectRef<ConnectionPage<unknown>>('PageInfo').implement({
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

/** @returns the result of `create`, which is called once, when it is needed */
export function lazy<T>(create: () => T): () => T {
  let result: { value: T } | undefined
  return () => (result ??= { value: create() }).value
}

/** Whether a field is selected below the resolved one, at any depth, also under `@skip`. */
export function selectsField({ fieldNodes, fragments }: GraphQLResolveInfo, name: string): boolean {
  const selects = ({ selectionSet }: { selectionSet?: SelectionSetNode | undefined }): boolean =>
    selectionSet?.selections.some((node) => {
      if (node.kind === Kind.FIELD && node.name.value === name) return true
      const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments[node.name.value] : node
      return fragment !== undefined && selects(fragment)
    }) ?? false
  return fieldNodes.some(selects)
}
