import {
  type DefinitionNode,
  type DocumentNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from 'graphql'

/** Limits of one request. Tokens are counted by the parser, the cost after validation, all others in between. */
export const limits = {
  tokens: 2_000,
  fields: 250,
  fragments: 100,
  directives: 30,
  depth: 15, // what the introspection query of every client needs
  aliases: 30,
  rootFields: 20,
  selections: 1_000,
  cost: 1_000,
}

/** What a request asks for, before its types and variables are known. */
export type QueryStats = Record<Exclude<keyof typeof limits, 'tokens' | 'cost'>, number>

const LIMIT_LABELS: Record<keyof QueryStats, string> = {
  fields: 'The number of fields',
  fragments: 'The number of fragments',
  directives: 'The number of directives',
  depth: 'The depth',
  aliases: 'The number of aliases',
  rootFields: 'The number of root fields',
  selections: 'The number of selections with fragments expanded',
}

/** @returns an error for each exceeded limit, with the limit and the measured value; empty when all hold */
export function checkLimits(stats: QueryStats): GraphQLError[] {
  return (Object.keys(LIMIT_LABELS) as (keyof QueryStats)[]) // the keys of the type's own record
    .filter((name) => stats[name] > limits[name])
    .map((name) => limitExceeded(LIMIT_LABELS[name], stats[name], limits[name]))
}

/** The error for an exceeded limit. @param label what was measured, at the start of a sentence */
export function limitExceeded(label: string, value: number, limit: number): GraphQLError {
  return new GraphQLError(`${label} is ${value}; the limit is ${limit}.`)
}

/**
 * Measures a request without executing it, in O(document size). Depth, aliases, root fields and selections (fields,
 * fragment spreads and inline fragments) are those of the operation with its fragments expanded at every spread;
 * fields, fragments and directives are counted as written. The limit on selections bounds whatever follows fragments
 * at each spread, as execution and graphql-jit do.
 */
export function analyzeQuery(document: DocumentNode, operation: OperationDefinitionNode): QueryStats {
  const written = document.definitions.map(countWritten)
  const fragments = document.definitions.filter((definition) => definition.kind === Kind.FRAGMENT_DEFINITION)
  const { depth, aliases, fields, selections } = expandFragments(operation, fragments)
  return {
    fields: sum(written.map((counts) => counts.fields)),
    fragments: fragments.length,
    directives: sum(written.map((counts) => counts.directives)),
    depth,
    aliases,
    rootFields: fields,
    selections,
  }
}

/** Fields and directives as they are written. */
function countWritten(node: DefinitionNode | SelectionNode): { fields: number; directives: number } {
  const within = 'selectionSet' in node && node.selectionSet ? node.selectionSet.selections.map(countWritten) : []
  const variables = 'variableDefinitions' in node ? (node.variableDefinitions ?? []) : []
  const own = 'directives' in node ? (node.directives?.length ?? 0) : 0
  return {
    fields: sum(within.map((counts) => counts.fields)) + (node.kind === Kind.FIELD ? 1 : 0),
    directives: own + sum([...within.map((c) => c.directives), ...variables.map((v) => v.directives?.length ?? 0)]),
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

/** Measures an operation with its fragments expanded; each fragment is walked once, however often it is spread. */
function expandFragments(operation: OperationDefinitionNode, definitions: FragmentDefinitionNode[]): Expanded {
  const fragments = new Map(definitions.map((definition) => [definition.name.value, definition]))
  const measured = new Map<string, Expanded>()
  const nothing: Expanded = { depth: 0, aliases: 0, fields: 0, selections: 0 }

  function ofSelections(selections: readonly SelectionNode[]): Expanded {
    return selections.map(ofSelection).reduce(
      (a, b) => ({
        depth: Math.max(a.depth, b.depth),
        aliases: a.aliases + b.aliases,
        fields: a.fields + b.fields,
        selections: a.selections + b.selections,
      }),
      nothing,
    )
  }

  function ofSelection(node: SelectionNode): Expanded {
    const within =
      node.kind === Kind.FRAGMENT_SPREAD
        ? ofFragment(node.name.value)
        : ofSelections(node.selectionSet?.selections ?? [])
    const selections = within.selections + 1
    if (node.kind !== Kind.FIELD) return { ...within, selections }
    return { depth: within.depth + 1, aliases: within.aliases + (node.alias ? 1 : 0), fields: 1, selections }
  }

  function ofFragment(name: string): Expanded {
    const known = measured.get(name)
    if (known) return known
    measured.set(name, nothing) // a cycle ends here; validation rejects it
    const result = ofSelections(fragments.get(name)?.selectionSet.selections ?? [])
    measured.set(name, result)
    return result
  }

  return ofSelections(operation.selectionSet.selections)
}

function sum(numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0)
}
