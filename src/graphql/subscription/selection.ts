import type { DocumentNode, FieldNode, OperationDefinitionNode, SelectionNode, SelectionSetNode } from 'graphql'
import { getDirectiveValues, GraphQLIncludeDirective, GraphQLSkipDirective, Kind } from 'graphql'

/** Selects nothing, where a selection set must not be empty. */
const NOTHING = '__typename @skip(if: true)'

/**
 * The shortest document with the same events as a valid subscription: fragments are expanded, `@skip` and `@include` are
 * decided, fields with the same response name are merged. So it has no variables, and its size is bounded by the limit of
 * aliases. The fields of an event have no arguments, and no types but objects. `variables` are coerced.
 * @throws GraphQLError for a directive whose variable is null
 */
export function toSelection(
  { definitions }: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): string {
  const fragments = new Map(
    definitions.flatMap((one) => (one.kind === Kind.FRAGMENT_DEFINITION ? [[one.name.value, one] as const] : [])),
  )

  function isIncluded(node: SelectionNode): boolean {
    if (getDirectiveValues(GraphQLSkipDirective, node, variables)?.if === true) return false
    return getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false
  }

  /** Collects the fields of a selection set by response name, in the order of the result. */
  function collect({ selections }: SelectionSetNode, fields: Map<string, FieldNode[]>, spread: Set<string>): void {
    for (const node of selections) {
      const isRepeated = node.kind === Kind.FRAGMENT_SPREAD && spread.has(node.name.value)
      if (isRepeated || !isIncluded(node)) continue
      if (node.kind === Kind.FIELD) {
        const name = (node.alias ?? node.name).value
        fields.set(name, [...(fields.get(name) ?? []), node])
        continue
      }
      if (node.kind === Kind.FRAGMENT_SPREAD) spread.add(node.name.value)
      const set = node.kind === Kind.FRAGMENT_SPREAD ? fragments.get(node.name.value) : node
      if (set) collect(set.selectionSet, fields, spread)
    }
  }

  function print(sets: SelectionSetNode[]): string {
    const fields = new Map<string, FieldNode[]>()
    const spread = new Set<string>()
    for (const set of sets) collect(set, fields, spread)
    const texts = [...fields.values()].map(([field, ...same]) => {
      const subsets = [field, ...same].flatMap((one) => one?.selectionSet ?? [])
      const alias = field?.alias ? `${field.alias.value}:` : ''
      return `${alias}${field?.name.value}${subsets.length ? print(subsets) : ''}`
    })
    return `{${texts.join(' ') || NOTHING}}`
  }

  return copyOf(`subscription${print([operation.selectionSet])}`)
}

/** A copy of a text: what V8 cuts out of a text keeps all of it. */
export function copyOf(text: string): string {
  return Buffer.from(text).toString()
}
