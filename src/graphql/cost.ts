import {
  type DocumentNode,
  type FieldNode,
  getArgumentValues,
  GraphQLError,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLSchema,
  isInterfaceType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  getNamedType,
  type SelectionSetNode,
} from 'graphql'

declare module 'graphql' {
  // The parameters must be those of the original declaration.
  // oxlint-disable-next-line no-unused-vars
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    /** Points of the rate limit that the field consumes, without its subfields; default 0. */
    cost?: number | ((args: _TArgs) => number)
  }
}

/** Cost of `__schema` and of `__type`, which cannot declare it. */
const INTROSPECTION_COST = 10

/**
 * The cost of a valid operation in points: the sum of what its fields declare, with fragments expanded, at least 1.
 * Arguments are coerced as in execution; a field with invalid arguments costs 0. Fields under `@skip` and `@include`
 * count. O(document size): each fragment is visited once.
 * @param variables as getVariableValues coerces them
 */
export function costOf(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): number {
  const fragments = new Map(
    document.definitions.flatMap((d) => (d.kind === Kind.FRAGMENT_DEFINITION ? [[d.name.value, d] as const] : [])),
  )
  const fragmentCosts = new Map<string, number>()

  function ofSelectionSet({ selections }: SelectionSetNode, parent: GraphQLNamedType | undefined | null): number {
    let cost = 0
    for (const node of selections) {
      if (node.kind === Kind.FIELD) cost += ofField(node, parent)
      else if (node.kind === Kind.FRAGMENT_SPREAD) cost += ofFragment(node.name.value)
      else cost += ofSelectionSet(node.selectionSet, conditionOf(node) ?? parent)
    }
    return cost
  }

  function ofFragment(name: string): number {
    const fragment = fragments.get(name)
    if (!fragment) return 0
    let cost = fragmentCosts.get(name)
    if (cost === undefined) {
      cost = ofSelectionSet(fragment.selectionSet, conditionOf(fragment))
      fragmentCosts.set(name, cost)
    }
    return cost
  }

  function ofField(node: FieldNode, parent: GraphQLNamedType | undefined | null): number {
    const name = node.name.value
    if (name === '__schema' || name === '__type') return INTROSPECTION_COST
    const field = isObjectType(parent) || isInterfaceType(parent) ? parent.getFields()[name] : undefined
    if (!field) return 0
    const subfields = node.selectionSet ? ofSelectionSet(node.selectionSet, getNamedType(field.type)) : 0
    return subfields + declaredCost(field, node, variables)
  }

  const conditionOf = ({ typeCondition }: { typeCondition?: { name: { value: string } } | undefined }) =>
    typeCondition && schema.getType(typeCondition.name.value)

  return Math.max(1, ofSelectionSet(operation.selectionSet, schema.getRootType(operation.operation)))
}

function declaredCost(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  variables: Record<string, unknown>,
): number {
  const { cost = 0 } = field.extensions
  if (typeof cost === 'number') return cost
  try {
    return cost(getArgumentValues(field, node, variables))
  } catch (error) {
    if (error instanceof GraphQLError) return 0 // the executor rejects the field for the same arguments
    throw error
  }
}
