import type { DocumentNode, FieldNode, FragmentDefinitionNode, GraphQLResolveInfo, SelectionNode } from 'graphql'
import type { SelectionSetNode } from 'graphql'
import { getDirectiveValues, GraphQLIncludeDirective, GraphQLSkipDirective, Kind } from 'graphql'
import { lazyFor } from '../lazy.ts'

type Fragments = Record<string, FragmentDefinitionNode>
type Variables = Record<string, unknown>

/** The selections that share a response name. They select the same field, perhaps with different subfields. */
export type FieldNodes = [FieldNode, ...FieldNode[]]

/**
 * The fragments by name of a document that may be invalid. A spread may have the name of a member that objects inherit,
 * such as `constructor`, so the result inherits nothing.
 */
export const fragmentsOf = lazyFor(({ definitions }: DocumentNode): Fragments => {
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  return Object.assign(Object.create(null), Object.fromEntries(fragments.map((one) => [one.name.value, one])))
})

/** The selection sets of fields: together they select the subfields. */
export function setsOf(nodes: readonly FieldNode[]): SelectionSetNode[] {
  return nodes.flatMap(({ selectionSet }) => selectionSet ?? [])
}

/**
 * The fields of valid selection sets by response name, in the order of the result. Fragments are expanded, and what `@skip`
 * or `@include` excludes is left out. The schema must have no interfaces and no unions.
 * @param variables coerced @throws GraphQLError for a directive whose variable is null
 */
export function collectFields(sets: SelectionSetNode[], fragments: Fragments, variables: Variables) {
  const fields = new Map<string, FieldNodes>()
  const spread = new Set<string>()

  function collect({ selections }: SelectionSetNode): void {
    for (const node of selections) {
      const isRepeated = node.kind === Kind.FRAGMENT_SPREAD && spread.has(node.name.value)
      if (isRepeated || !isIncluded(node, variables)) continue
      if (node.kind === Kind.FIELD) {
        const name = (node.alias ?? node.name).value
        const same = fields.get(name)
        if (same) same.push(node)
        else fields.set(name, [node])
        continue
      }
      if (node.kind === Kind.FRAGMENT_SPREAD) spread.add(node.name.value)
      const set = node.kind === Kind.FRAGMENT_SPREAD ? fragments[node.name.value] : node
      if (set) collect(set.selectionSet)
    }
  }

  for (const set of sets) collect(set)
  return fields
}

/** Whether a field is selected on the object that is being resolved. */
export function selectsField({ fieldNodes, fragments, variableValues }: GraphQLResolveInfo, name: string): boolean {
  const fields = collectFields(setsOf(fieldNodes), fragments, variableValues)
  return [...fields.values()].some(([node]) => node.name.value === name)
}

function isIncluded(node: SelectionNode, variables: Variables): boolean {
  if (!node.directives?.length) return true
  if (getDirectiveValues(GraphQLSkipDirective, node, variables)?.if === true) return false
  return getDirectiveValues(GraphQLIncludeDirective, node, variables)?.if !== false
}
