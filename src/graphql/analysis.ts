import type { DocumentNode, ExecutableDefinitionNode, FieldNode, FragmentDefinitionNode } from 'graphql'
import type {
  GraphQLField,
  GraphQLNamedType,
  InlineFragmentNode,
  OperationDefinitionNode,
  SelectionNode,
} from 'graphql'
import type { SelectionSetNode } from 'graphql'
import {
  getArgumentValues,
  getNamedType,
  GraphQLError,
  type GraphQLSchema,
  isAbstractType,
  isObjectType,
} from 'graphql'
import { Kind } from 'graphql'
import { SchemaMetaFieldDef, TypeMetaFieldDef } from 'graphql'
import type { QueryStats } from './limits.ts'

const INTROSPECTION_FIELDS = new Map([SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]))

/** Cost of each of INTROSPECTION_FIELDS, which cannot declare it. */
const INTROSPECTION_COST = 10

/** @param variables coerced @returns points */
type Cost = (variables: Record<string, unknown>) => number

/** What is known of a document without variables. */
export type Analysis = ReturnType<typeof analyze>

export type Analyze = (document: DocumentNode) => Analysis

/** The type of a selection set; undefined where the document does not match the schema. */
type Type = GraphQLNamedType | undefined

const FREE: Cost = () => 0

/** Measures of a selection set with its fragments expanded: `directives` at the top, others at every level. */
const EMPTY = { aliases: 0, introspectionAliases: 0, directives: 0, selections: 0, cost: FREE }
type Expanded = typeof EMPTY

/** @returns analyzes each document once, as long as it is kept */
export function createAnalyze(schema: GraphQLSchema): Analyze {
  const analyses = new WeakMap<DocumentNode, Analysis>()
  return (document) => {
    const known = analyses.get(document)
    if (known) return known
    const analysis = analyze(schema, document)
    analyses.set(document, analysis)
    return analysis
  }
}

/**
 * Analyzes a document in O(its size); it must have no cycles of fragments. Aliases and selections (fields, fragment spreads
 * and inline fragments) are those of the largest operation or fragment of the document, with its fragments expanded at
 * every spread: they bound the work of validation, execution and `costOf`, which expand them, too.
 *
 * The cost of an operation is the sum of what its fields declare, at least 1; for a valid document within the limits.
 * Arguments are coerced as in execution; a field with invalid ones costs 0. Fields under `@skip` and `@include` count, and
 * those of all type conditions.
 */
function analyze(schema: GraphQLSchema, { definitions, loc }: DocumentNode) {
  const executable = definitions.filter((definition) => 'selectionSet' in definition)
  const walk = new DocumentWalk(schema, executable)
  const measured = executable.map((definition) => walk.measureDefinition(definition))
  const text = loc?.source.body ?? ''
  const subscriptions = executable.filter((one) => walk.typeOf(one) === schema.getSubscriptionType())
  const stats: QueryStats = {
    lines: text.split(/\r\n|[\n\r]/).length,
    variables: Math.max(...executable.map(({ variableDefinitions = [] }) => variableDefinitions.length)),
    aliases: Math.max(...measured.map(({ aliases }) => aliases)),
    introspectionAliases: Math.max(...measured.map(({ introspectionAliases }) => introspectionAliases)),
    aliasLength: walk.aliasLength,
    selections: Math.max(...measured.map(({ selections }) => selections)),
    subscriptionLength: subscriptions.length ? text.length : 0,
  }
  return {
    ...stats,
    /** Whether it selects `__schema` or `__type`. */
    introspects: walk.introspects,
    /** Subscriptions with a directive on a root field, or on a fragment with one: `@skip` or `@include`. */
    conditional: subscriptions.filter((one) => walk.measureDefinition(one).directives > 0),
    costOf: (operation: OperationDefinitionNode, variables: Record<string, unknown>) =>
      Math.max(1, walk.measureDefinition(operation).cost(variables)),
  }
}

/** Walks each definition of a document once, however often it is spread. */
class DocumentWalk {
  readonly fragments: Map<string, FragmentDefinitionNode>
  aliasLength = 0
  introspects = false
  readonly #schema: GraphQLSchema
  readonly #measured = new Map<ExecutableDefinitionNode, Expanded>()

  constructor(schema: GraphQLSchema, definitions: ExecutableDefinitionNode[]) {
    this.#schema = schema
    const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
    this.fragments = new Map(fragments.map((fragment) => [fragment.name.value, fragment]))
  }

  measureDefinition(definition: ExecutableDefinitionNode): Expanded {
    const measured = this.#measured.get(definition)
    if (measured) return measured
    const result = this.#measureSet(definition.selectionSet, this.typeOf(definition))
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
      costs.push(within.cost, isField ? this.#costOf(node, parent) : FREE)
    }
    return { ...total, cost: (variables) => costs.reduce((sum, cost) => sum + cost(variables), 0) }
  }

  #measureNode(node: SelectionNode, parent: Type): Expanded {
    if (node.kind === Kind.INLINE_FRAGMENT) return this.#measureSet(node.selectionSet, this.typeOf(node) ?? parent)
    if (node.kind === Kind.FRAGMENT_SPREAD) {
      const fragment = this.fragments.get(node.name.value)
      return fragment ? this.measureDefinition(fragment) : EMPTY
    }
    this.introspects ||= INTROSPECTION_FIELDS.has(node.name.value)
    this.aliasLength = Math.max(this.aliasLength, node.alias?.value.length ?? 0)
    return node.selectionSet
      ? this.#measureSet(node.selectionSet, getNamedType(this.#fieldsOf(node, parent)[0]?.type))
      : EMPTY
  }

  typeOf(node: ExecutableDefinitionNode | InlineFragmentNode): Type {
    if (node.kind === Kind.OPERATION_DEFINITION) return this.#schema.getRootType(node.operation) ?? undefined
    return node.typeCondition && this.#schema.getType(node.typeCondition.name.value)
  }

  /** The fields that a selection may be: of an interface, those of each type that implements it. */
  #fieldsOf({ name: { value: name } }: FieldNode, parent: Type) {
    const types = isAbstractType(parent) ? this.#schema.getPossibleTypes(parent) : [parent].filter(isObjectType)
    return types.flatMap((type) => type.getFields()[name] ?? INTROSPECTION_FIELDS.get(name) ?? [])
  }

  #costOf(node: FieldNode, parent: Type): Cost {
    if (INTROSPECTION_FIELDS.has(node.name.value)) return () => INTROSPECTION_COST
    const costs = this.#fieldsOf(node, parent).map((field) => costOfField(field, node))
    return (variables) => Math.max(0, ...costs.map((cost) => cost(variables)))
  }
}

function costOfField(field: GraphQLField<unknown, unknown>, node: FieldNode): Cost {
  const cost = field.extensions.cost ?? 0
  if (typeof cost === 'number') return () => cost
  return (variables) => {
    try {
      return cost(getArgumentValues(field, node, variables))
    } catch (error) {
      if (error instanceof GraphQLError) return 0 // the executor rejects the field for the same arguments
      throw error
    }
  }
}
