import { type DocumentNode, Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql'
import type { Scope } from '../auth/api-keys.ts'
import { schema } from './schema/index.ts'

/**
 * The scopes of all root fields that an operation selects, also of those under `@skip`. Resolvers cannot check them: callers
 * share executions. The document may be invalid: fragments may be in a cycle, and a field that does not exist has no scope.
 */
export function scopesOf({ definitions }: DocumentNode, operation: OperationDefinitionNode): Set<Scope> {
  const fields = schema.getRootType(operation.operation)?.getFields()
  const fragments = new Map<string, SelectionSetNode>()
  for (const definition of definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition.selectionSet)
  }
  const scopes = new Set<Scope>()
  const sets = new Set([operation.selectionSet]) // iterated with those that are added meanwhile
  for (const { selections } of sets) {
    for (const node of selections) {
      if (node.kind === Kind.INLINE_FRAGMENT) sets.add(node.selectionSet)
      else if (node.kind === Kind.FRAGMENT_SPREAD) {
        const set = fragments.get(node.name.value)
        if (set) sets.add(set)
      } else {
        const scope = fields?.[node.name.value]?.extensions.scope
        if (scope) scopes.add(scope)
      }
    }
  }
  return scopes
}
