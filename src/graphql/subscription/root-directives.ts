import { type DocumentNode, GraphQLError, Kind, OperationTypeNode, type SelectionNode } from 'graphql'

/**
 * Rejects @skip and @include at the root of a subscription, as the GraphQL specification does. graphql-js 16 throws in
 * validation or execution instead. For a document without cycles of fragments.
 */
export function checkRootDirectives({ definitions }: DocumentNode): GraphQLError[] {
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)

  function findConditional(node: SelectionNode): SelectionNode[] {
    if (node.directives?.some(({ name }) => ['skip', 'include'].includes(name.value))) return [node]
    if (node.kind === Kind.FIELD) return []
    const set = node.kind === Kind.INLINE_FRAGMENT ? node : fragments.find(({ name }) => name.value === node.name.value)
    return set?.selectionSet.selections.flatMap(findConditional) ?? []
  }

  const nodes = definitions
    .filter((definition) => definition.kind === Kind.OPERATION_DEFINITION)
    .filter(({ operation }) => operation === OperationTypeNode.SUBSCRIPTION)
    .flatMap(({ selectionSet }) => selectionSet.selections.flatMap(findConditional))
  const message = 'The root field of a subscription must not have @skip or @include.'
  return nodes.length ? [new GraphQLError(message, { nodes })] : []
}
