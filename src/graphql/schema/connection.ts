import type { GraphQLResolveInfo } from 'graphql'
import { collectFields, setsOf } from '../fields.ts'
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

/** Whether a field is selected on the object that is being resolved. */
export function selectsField({ fieldNodes, fragments, variableValues }: GraphQLResolveInfo, name: string): boolean {
  const fields = collectFields(setsOf(fieldNodes), fragments, variableValues)
  return [...fields.values()].some(([node]) => node.name.value === name)
}
