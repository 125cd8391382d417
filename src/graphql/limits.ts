import {
  type DocumentNode,
  type ExecutableDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql'

/** Limits of one request. The parser counts tokens; the cost is computed after validation, the others before it. */
export const limits = {
  tokens: 2_000,
  fields: 250,
  fragments: 100,
  directives: 30,
  depth: 15, // introspection queries of common clients need 15
  aliases: 30,
  aliasLength: 255, // a response repeats it for each object
  rootFields: 20,
  selections: 1_000,
  cost: 1_000,
}

/** Measures of a request that need neither the schema nor variables. */
export type QueryStats = Record<Exclude<keyof typeof limits, 'tokens' | 'cost'>, number>

const LIMIT_LABELS: Record<keyof QueryStats, string> = {
  fields: 'The number of fields',
  fragments: 'The number of fragments',
  directives: 'The number of directives',
  depth: 'The depth',
  aliases: 'The number of aliases',
  aliasLength: 'The length of an alias',
  rootFields: 'The number of root fields',
  selections: 'The number of selections with fragments expanded',
}

/** @returns an error for each exceeded limit, with the limit and the measured value */
export function checkLimits(stats: QueryStats): GraphQLError[] {
  return (Object.keys(LIMIT_LABELS) as (keyof QueryStats)[]) // the keys of the type's own record
    .filter((name) => stats[name] > limits[name])
    .map((name) => limitExceeded(LIMIT_LABELS[name], stats[name], limits[name]))
}

/** The error for an exceeded limit. @param label the measure, as the start of a sentence */
export function limitExceeded(label: string, value: number, limit: number): GraphQLError {
  return new GraphQLError(`${label} is ${value}; the limit is ${limit}.`)
}

/** Measures of a selection set with its fragments expanded at every spread. */
interface Expanded {
  depth: number
  aliases: number
  /** Fields at the top of the selection set. */
  fields: number
  /** Fields, spreads and inline fragments at every level. */
  selections: number
}

const NOTHING: Expanded = { depth: 0, aliases: 0, fields: 0, selections: 0 }

/**
 * Measures a request without executing it, in O(document size). Depth, aliases and root fields are those of the
 * operation with its fragments expanded at every spread; fields, fragments, directives and the longest alias are
 * measured as written. Selections (fields, fragment spreads and inline fragments) are those of the largest operation or
 * fragment of the document, expanded: they bound the work of validation, execution and graphql-jit, which expand
 * fragments at each spread.
 * @returns undefined when fragments spread each other in a cycle
 */
export function analyzeQuery(
  { definitions }: DocumentNode,
  operation: OperationDefinitionNode,
): QueryStats | undefined {
  const executable = definitions.filter((definition) => 'selectionSet' in definition)
  const fragments = executable.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION)
  const byName = new Map(fragments.map((fragment) => [fragment.name?.value, fragment]))
  const written = { fields: 0, directives: 0, aliasLength: 0 }
  /** Each definition is walked once, however often it is spread. */
  const measured = new Map<ExecutableDefinitionNode, Expanded | 'in progress'>()
  let hasCycle = false

  function ofDefinition(definition: ExecutableDefinitionNode): Expanded {
    const known = measured.get(definition)
    if (known === 'in progress') hasCycle = true
    if (known) return known === 'in progress' ? NOTHING : known
    measured.set(definition, 'in progress')
    for (const { directives } of [definition, ...(definition.variableDefinitions ?? [])])
      written.directives += directives?.length ?? 0
    const result = ofSelections(definition.selectionSet)
    measured.set(definition, result)
    return result
  }

  function ofSelections({ selections }: SelectionSetNode): Expanded {
    const total = { ...NOTHING }
    for (const node of selections) {
      written.directives += node.directives?.length ?? 0
      const spread = node.kind === Kind.FRAGMENT_SPREAD ? byName.get(node.name.value) : undefined
      const nested = 'selectionSet' in node && node.selectionSet ? ofSelections(node.selectionSet) : NOTHING
      const { depth, aliases, fields, selections: count } = spread ? ofDefinition(spread) : nested
      const isField = node.kind === Kind.FIELD
      const alias = isField ? node.alias : undefined
      written.fields += isField ? 1 : 0
      written.aliasLength = Math.max(written.aliasLength, alias?.value.length ?? 0)
      total.depth = Math.max(total.depth, depth + (isField ? 1 : 0))
      total.aliases += aliases + (alias ? 1 : 0)
      total.fields += isField ? 1 : fields
      total.selections += count + 1
    }
    return total
  }

  const { depth, aliases, fields: rootFields } = ofDefinition(operation)
  const selections = Math.max(...executable.map((definition) => ofDefinition(definition).selections))
  return hasCycle ? undefined : { ...written, fragments: fragments.length, depth, aliases, rootFields, selections }
}
