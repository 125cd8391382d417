import {
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
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

/**
 * Measures a request without executing it, in O(document size). Depth, aliases and root fields are those of the
 * operation with its fragments expanded at every spread; fields, fragments, directives and the longest alias are
 * measured as written. Selections (fields, fragment spreads and inline fragments) are those of the largest operation or
 * fragment of the document, expanded: they bound the work of validation, execution and graphql-jit, which expand
 * fragments at each spread.
 * @returns undefined when fragments spread each other in a cycle
 */
export function analyzeQuery(document: DocumentNode, operation: OperationDefinitionNode): QueryStats | undefined {
  const written = document.definitions.map(measureWritten)
  const fragments = document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  const expand = createExpander(fragments)
  const expanded = document.definitions.flatMap((d) => ('selectionSet' in d ? [expand(d.selectionSet)] : []))
  const selected = expand(operation.selectionSet)
  if (!selected || expanded.includes(undefined)) return undefined
  return {
    fields: sum(written.map((w) => w.fields)),
    fragments: fragments.length,
    directives: sum(written.map((w) => w.directives)),
    depth: selected.depth,
    aliases: selected.aliases,
    aliasLength: Math.max(...written.map((w) => w.aliasLength)),
    rootFields: selected.fields,
    selections: Math.max(...expanded.map((e) => e?.selections ?? 0)),
  }
}

interface Written {
  fields: number
  directives: number
  /** Length of the longest alias. */
  aliasLength: number
}

function measureWritten(node: DefinitionNode | SelectionNode): Written {
  const within = 'selectionSet' in node && node.selectionSet ? node.selectionSet.selections.map(measureWritten) : []
  const variables = 'variableDefinitions' in node ? (node.variableDefinitions ?? []) : []
  const own = 'directives' in node ? (node.directives?.length ?? 0) : 0
  const alias = node.kind === Kind.FIELD ? (node.alias?.value.length ?? 0) : 0
  return {
    fields: sum(within.map((w) => w.fields)) + (node.kind === Kind.FIELD ? 1 : 0),
    directives: own + sum([...within.map((w) => w.directives), ...variables.map((v) => v.directives?.length ?? 0)]),
    aliasLength: Math.max(alias, ...within.map((w) => w.aliasLength)),
  }
}

interface Expanded {
  depth: number
  aliases: number
  /** Fields at the top of the selection set. */
  fields: number
  /** Fields, spreads and inline fragments at every level. */
  selections: number
}

/**
 * Measures selection sets with their fragments expanded; each fragment is walked once, however often it is spread.
 * @returns a function whose result is undefined when fragments spread each other in a cycle
 */
function createExpander(definitions: FragmentDefinitionNode[]) {
  const fragments = new Map(definitions.map((definition) => [definition.name.value, definition]))
  const measured = new Map<string, Expanded | 'in progress'>()
  let hasCycle = false

  function ofSelections({ selections }: SelectionSetNode): Expanded {
    const total = { depth: 0, aliases: 0, fields: 0, selections: 0 }
    for (const selection of selections) {
      const { depth, aliases, fields, selections: count } = ofSelection(selection)
      total.depth = Math.max(total.depth, depth)
      total.aliases += aliases
      total.fields += fields
      total.selections += count
    }
    return total
  }

  function ofSelection(node: SelectionNode): Expanded {
    const within = node.kind === Kind.FRAGMENT_SPREAD ? ofFragment(node.name.value) : ofNode(node)
    const selections = within.selections + 1
    if (node.kind !== Kind.FIELD) return { ...within, selections }
    return { depth: within.depth + 1, aliases: within.aliases + (node.alias ? 1 : 0), fields: 1, selections }
  }

  function ofNode({ selectionSet }: { selectionSet?: SelectionSetNode | undefined }): Expanded {
    return selectionSet ? ofSelections(selectionSet) : NOTHING
  }

  function ofFragment(name: string): Expanded {
    const cached = measured.get(name)
    if (cached === 'in progress') hasCycle = true
    if (cached) return cached === 'in progress' ? NOTHING : cached
    measured.set(name, 'in progress')
    const result = ofNode(fragments.get(name) ?? {})
    measured.set(name, result)
    return result
  }

  return (selectionSet: SelectionSetNode): Expanded | undefined => {
    const expanded = ofSelections(selectionSet)
    return hasCycle ? undefined : expanded
  }
}

const NOTHING: Expanded = { depth: 0, aliases: 0, fields: 0, selections: 0 }

function sum(numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0)
}
