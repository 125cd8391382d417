import type { DocumentNode, OperationDefinitionNode, SelectionSetNode } from 'graphql'
import { collectFields, fragmentsOf, setsOf } from '../fields.ts'

/** Selects nothing, where a selection set must not be empty. */
const NOTHING = '__typename @skip(if: true)'

/**
 * The shortest document with the same events as a valid subscription: fragments are expanded, `@skip` and `@include` are
 * decided, fields with the same response name are merged. So it has no variables, and its size is bounded by the limit of
 * aliases. The fields of an event have no arguments, and no types but objects. `variables` are coerced.
 * @throws ArgumentError for a directive whose variable is null
 */
export function toSelection(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): string {
  const fragments = fragmentsOf(document)

  function print(sets: SelectionSetNode[]): string {
    const fields = collectFields(sets, fragments, variables)
    const texts = [...fields.values()].map((nodes) => {
      const subsets = setsOf(nodes)
      const [{ alias, name }] = nodes
      return `${alias ? `${alias.value}:` : ''}${name.value}${subsets.length ? print(subsets) : ''}`
    })
    return `{${texts.join(' ') || NOTHING}}`
  }

  return copyOf(`subscription${print([operation.selectionSet])}`)
}

/** Copies a text: in V8, a part of a text keeps the whole text in memory. */
export function copyOf(text: string): string {
  return Buffer.from(text).toString()
}
