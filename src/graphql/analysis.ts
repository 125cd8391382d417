import type { DocumentNode, ExecutableDefinitionNode, FieldNode, OperationDefinitionNode, SelectionNode } from 'graphql'
import type { FragmentDefinitionNode } from 'graphql'
import { getArgumentValues, GraphQLError, type GraphQLField, type GraphQLSchema, isAbstractType } from 'graphql'
import { isObjectType, Kind, OperationTypeNode, SchemaMetaFieldDef, TypeInfo, TypeMetaFieldDef } from 'graphql'
import { visit, visitWithTypeInfo } from 'graphql'
import { lazyFor } from '../lib/lazy.ts'

const INTROSPECTION_FIELDS = new Set([SchemaMetaFieldDef.name, TypeMetaFieldDef.name])

/** The cost of `__schema` and of `__type`, which cannot declare one. */
const INTROSPECTION_COST = 10

/** @param variables coerced @returns points */
type Cost = (variables: Record<string, unknown>) => number

export type Analyze = (document: DocumentNode) => ReturnType<typeof analyze>

/** Fragments by name. The object inherits nothing, because an invalid document may spread `constructor`. */
export const fragmentsOf = lazyFor(({ definitions }: DocumentNode): Record<string, FragmentDefinitionNode> => {
  const fragments = definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  return Object.assign(Object.create(null), Object.fromEntries(fragments.map((one) => [one.name.value, one])))
})

/** @returns a function that analyzes each document once, and keeps the result as long as the document is in memory */
export const createAnalyze = (schema: GraphQLSchema): Analyze => lazyFor((document) => analyze(schema, document))

/**
 * Analyzes a document in O(its size). The result is incomplete for fragments in a cycle, which the validation rejects. The
 * numbers of aliases and of selections (fields, fragment spreads and inline fragments) are those of the largest operation
 * or fragment, with a fragment counted again at each spread. They bound the work of validation, execution and `costOf`,
 * which also expand each spread.
 */
function analyze(schema: GraphQLSchema, document: DocumentNode) {
  const { definitions, loc } = document
  const executable = definitions.filter((definition) => 'selectionSet' in definition)
  const fragments = fragmentsOf(document)
  const known = new Map<ExecutableDefinitionNode, Totals>()
  /** The costs of operations without variables, which never change. */
  const fixedCosts = new Map<OperationDefinitionNode, number>()

  /** Sums up a definition with its fragments expanded. Visits each fragment once. */
  function totalsOf(definition: ExecutableDefinitionNode): Totals {
    const earlier = known.get(definition)
    if (earlier) return earlier
    const totals = emptyTotals()
    known.set(definition, totals) // before the visit, which ends for fragments in a cycle, too
    const types = new TypeInfo(schema)
    const enter = (node: SelectionNode) => {
      totals.selections++
      if (node.kind === Kind.FIELD) addField(totals, node, types, schema)
      const fragment = node.kind === Kind.FRAGMENT_SPREAD && fragments[node.name.value]
      if (fragment) addFragment(totals, totalsOf(fragment))
    }
    visit(definition, visitWithTypeInfo(types, { Field: enter, FragmentSpread: enter, InlineFragment: enter }))
    return totals
  }

  const all = executable.map(totalsOf)
  const largest = (name: 'aliases' | 'aliasLength' | 'introspectionAliases' | 'selections') =>
    Math.max(...all.map((one) => one[name]))
  const text = loc?.source.body ?? ''
  const subscribes = executable.some((one) => 'operation' in one && one.operation === OperationTypeNode.SUBSCRIPTION)
  return {
    lines: text.split(/\r\n|[\n\r]/).length,
    variables: Math.max(...executable.map(({ variableDefinitions = [] }) => variableDefinitions.length)),
    aliases: largest('aliases'),
    introspectionAliases: largest('introspectionAliases'),
    aliasLength: largest('aliasLength'),
    selections: largest('selections'),
    subscriptionLength: subscribes ? text.length : 0,
    /** Whether the document selects `__schema` or `__type`. */
    introspects: all.some(({ introspects }) => introspects),
    /**
     * The cost in points, at least 1, of an operation of a valid document within the limits. All fields count,
     * even under `@skip`, `@include` and type conditions.
     */
    costOf(operation: OperationDefinitionNode, variables: Record<string, unknown>): number {
      const cost = fixedCosts.get(operation) ?? Math.max(1, totalsOf(operation).cost(variables))
      if (!operation.variableDefinitions?.length) fixedCosts.set(operation, cost)
      return cost
    },
    /**
     * The scopes of all fields that an operation selects, even under `@skip`; of a field of an interface, those of all
     * types that implement it. Resolvers cannot check scopes, because callers share executions.
     */
    scopesOf: (operation: OperationDefinitionNode): Iterable<string> => totalsOf(operation).scopes,
  }
}

function emptyTotals() {
  const costs: Cost[] = []
  const cost: Cost = (variables) => costs.reduce((sum, one) => sum + one(variables), 0)
  const counts = { aliases: 0, aliasLength: 0, introspectionAliases: 0, selections: 0 }
  return { ...counts, introspects: false, scopes: new Set<string>(), costs, cost }
}

type Totals = ReturnType<typeof emptyTotals>

/** Adds a field. One of an interface has the scopes of all types that implement it, and the largest of their costs. */
function addField(totals: Totals, node: FieldNode, info: TypeInfo, schema: GraphQLSchema): void {
  const introspects = INTROSPECTION_FIELDS.has(node.name.value)
  const parent = info.getParentType() // undefined where the document does not match the schema
  const types = isAbstractType(parent) ? schema.getPossibleTypes(parent) : [parent].filter(isObjectType)
  const fields = types.flatMap((type) => type.getFields()[node.name.value] ?? [])
  const cost: Cost = (variables) => Math.max(0, ...fields.map((field) => declaredCostOf(field, node, variables)))
  totals.introspects ||= introspects
  totals.costs.push(introspects ? () => INTROSPECTION_COST : cost)
  for (const { extensions } of fields) if (extensions.scope) totals.scopes.add(extensions.scope)
  if (!node.alias) return
  totals.aliases++
  totals.aliasLength = Math.max(totals.aliasLength, node.alias.value.length)
  if (introspects || parent?.name.startsWith('__')) totals.introspectionAliases++
}

function addFragment(totals: Totals, fragment: Totals): void {
  totals.aliases += fragment.aliases
  totals.introspectionAliases += fragment.introspectionAliases
  totals.selections += fragment.selections
  totals.costs.push(fragment.cost)
  for (const scope of fragment.scopes) totals.scopes.add(scope)
}

function declaredCostOf(field: GraphQLField<unknown, unknown>, node: FieldNode, variables: Record<string, unknown>) {
  const { cost = 0 } = field.extensions
  if (typeof cost === 'number') return cost
  try {
    return cost(getArgumentValues(field, node, variables))
  } catch (error) {
    if (error instanceof GraphQLError) return 0 // the executor rejects the field for the same arguments
    throw error
  }
}
