import type { DocumentNode, ExecutableDefinitionNode, FieldNode, FragmentDefinitionNode } from 'graphql'
import type { GraphQLNamedType, InlineFragmentNode, OperationDefinitionNode, SelectionNode } from 'graphql'
import type { SelectionSetNode } from 'graphql'
import { getArgumentValues, getNamedType, GraphQLError, isObjectType, Kind } from 'graphql'
import { SchemaMetaFieldDef, TypeMetaFieldDef } from 'graphql'
import type { QueryStats } from './limits.ts'
import { schema } from './schema/index.ts'

const INTROSPECTION_FIELDS = new Map([SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]))

/** Cost of each of INTROSPECTION_FIELDS, which cannot declare it. */
const INTROSPECTION_COST = 10

/** @param variables coerced @returns points */
type Cost = (variables: Record<string, unknown>) => number

/** What is known of an operation without its variables. */
export type Analysis = ReturnType<typeof analyze>

/** The type of a selection set; undefined where the document does not match the schema. */
type Type = GraphQLNamedType | undefined

const FREE: Cost = () => 0

/** Measures of a selection set with its fragments expanded: `directives` at the top, others at every level. */
const EMPTY = { aliases: 0, introspectionAliases: 0, directives: 0, selections: 0, cost: FREE }
type Expanded = typeof EMPTY

/**
 * Analyzes an operation in O(document size), for a document without cycles of fragments. Aliases and selections (fields,
 * fragment spreads and inline fragments) are those of the largest operation or fragment of the document, with its fragments
 * expanded at every spread: they bound the work of validation, execution and `cost`, which expand them, too.
 *
 * `cost` is the sum of what the fields declare, at least 1; for a valid operation within the limits. Arguments are coerced
 * as in execution; a field with invalid ones costs 0. Fields under `@skip` and `@include` count.
 */
export function analyze({ definitions, loc }: DocumentNode, operation: OperationDefinitionNode) {
  const executable = definitions.filter((definition) => 'selectionSet' in definition)
  const walk = new DocumentWalk(executable)
  const measured = executable.map((definition) => walk.measureDefinition(definition))
  const stats: QueryStats = {
    lines: loc?.source.body.split(/\r\n|[\n\r]/).length ?? 0,
    variables: Math.max(...executable.map(({ variableDefinitions = [] }) => variableDefinitions.length)),
    aliases: Math.max(...measured.map(({ aliases }) => aliases)),
    introspectionAliases: Math.max(...measured.map(({ introspectionAliases }) => introspectionAliases)),
    aliasLength: walk.aliasLength,
    selections: Math.max(...measured.map(({ selections }) => selections)),
  }
  const { cost } = walk.measureDefinition(operation)
  return {
    ...stats,
    introspects: walk.introspects,
    /** Subscriptions with a directive on a root field, or on a fragment with one: `@skip` or `@include`. */
    conditional: executable.filter(
      (one) => typeOf(one) === schema.getSubscriptionType() && walk.measureDefinition(one).directives > 0,
    ),
    cost: (variables: Record<string, unknown>) => Math.max(1, cost(variables)),
  }
}

/** Walks each definition of a document once, however often it is spread. */
class DocumentWalk {
  readonly fragments: Map<string, FragmentDefinitionNode>
  aliasLength = 0
  introspects = false
  readonly #measured = new Map<ExecutableDefinitionNode, Expanded>()

  constructor(definitions: ExecutableDefinitionNode[]) {
    const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
    this.fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]))
  }

  measureDefinition(definition: ExecutableDefinitionNode): Expanded {
    const measured = this.#measured.get(definition)
    if (measured) return measured
    const result = this.#measureSet(definition.selectionSet, typeOf(definition))
    this.#measured.set(definition, result)
    return result
  }

  #measureSet({ selections }: SelectionSetNode, parent: Type): Expanded {
    const costs: Cost[] = []
    const total = { ...EMPTY }
    for (const node of selections) {
      const within = this.#measureNode(node, parent)
      const isField = node.kind === Kind.FIELD
      const aliases = isField && node.alias ? 1 : 0
      const isIntrospection = isField && (INTROSPECTION_FIELDS.has(node.name.value) || parent?.name.startsWith('__'))
      total.aliases += within.aliases + aliases
      total.introspectionAliases += within.introspectionAliases + (isIntrospection ? aliases : 0)
      total.directives += (node.directives?.length ?? 0) + (isField ? 0 : within.directives)
      total.selections += within.selections + 1
      costs.push(within.cost, isField ? costOf(node, parent) : FREE)
    }
    return { ...total, cost: (variables) => costs.reduce((sum, cost) => sum + cost(variables), 0) }
  }

  #measureNode(node: SelectionNode, parent: Type): Expanded {
    if (node.kind === Kind.INLINE_FRAGMENT) return this.#measureSet(node.selectionSet, typeOf(node) ?? parent)
    if (node.kind === Kind.FRAGMENT_SPREAD) {
      const fragment = this.fragments.get(node.name.value)
      return fragment ? this.measureDefinition(fragment) : EMPTY
    }
    this.introspects ||= INTROSPECTION_FIELDS.has(node.name.value)
    this.aliasLength = Math.max(this.aliasLength, node.alias?.value.length ?? 0)
    return node.selectionSet ? this.#measureSet(node.selectionSet, getNamedType(fieldOf(node, parent)?.type)) : EMPTY
  }
}

function typeOf(node: ExecutableDefinitionNode | InlineFragmentNode): Type {
  if (node.kind === Kind.OPERATION_DEFINITION) return schema.getRootType(node.operation) ?? undefined
  return node.typeCondition && schema.getType(node.typeCondition.name.value)
}

function fieldOf({ name }: FieldNode, parent: Type) {
  return isObjectType(parent) ? (parent.getFields()[name.value] ?? INTROSPECTION_FIELDS.get(name.value)) : undefined
}

function costOf(node: FieldNode, parent: Type): Cost {
  if (INTROSPECTION_FIELDS.has(node.name.value)) return () => INTROSPECTION_COST
  const field = fieldOf(node, parent)
  const cost = field?.extensions.cost ?? 0
  if (!field || typeof cost === 'number') return () => Number(cost)
  return (variables) => {
    try {
      return cost(getArgumentValues(field, node, variables))
    } catch (error) {
      if (error instanceof GraphQLError) return 0 // the executor rejects the field for the same arguments
      throw error
    }
  }
}
