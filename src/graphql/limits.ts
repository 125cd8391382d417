import {
  type DefinitionNode,
  type DocumentNode,
  type FieldNode,
  GraphQLError,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from 'graphql'
import { DEFAULT_PAGE_SIZE } from '../animals/animal.ts'

/** What one request may ask for. Tokens are counted while parsing, all else before the document is validated. */
export const limits = {
  tokens: 2_000,
  fields: 250,
  fragments: 100,
  directives: 30,
  depth: 15, // what the introspection query of every client needs
  aliases: 30,
  rootFields: 20,
  cost: 1_000,
}

type Measures = Record<Exclude<keyof typeof limits, 'tokens'>, number>

const nameOf: Record<keyof Measures, string> = {
  fields: 'The number of fields',
  fragments: 'The number of fragments',
  directives: 'The number of directives',
  depth: 'The depth',
  aliases: 'The number of aliases',
  rootFields: 'The number of root fields',
  cost: 'The cost',
}

/** @returns what the request asks too much of, with the limit and what was asked; empty when it may be run */
export function overLimits(measures: Measures): GraphQLError[] {
  return (Object.keys(nameOf) as (keyof Measures)[])
    .filter((name) => measures[name] > limits[name])
    .map((name) => new GraphQLError(`${nameOf[name]} is ${measures[name]}; the limit is ${limits[name]}.`))
}

/**
 * Measures a request without executing it, in time linear in the document. Depth, aliases, root fields and cost are
 * those of the operation with its fragments spread; fields, fragments and directives are counted as they are written.
 * A page of n costs n, an animal 1, a new animal 10, a count 10, introspection 10.
 */
export function measure(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown> = {},
): Measures {
  const written = document.definitions.map(count)
  const { depth, aliases, fields, cost } = spread(document, operation, variables)
  return {
    fields: sum(written.map((counts) => counts.fields)),
    fragments: document.definitions.filter(({ kind }) => kind === Kind.FRAGMENT_DEFINITION).length,
    directives: sum(written.map((counts) => counts.directives)),
    depth,
    aliases,
    rootFields: fields,
    cost: Math.max(cost, 1),
  }
}

/** Fields and directives as they are written. */
function count(node: DefinitionNode | SelectionNode): { fields: number; directives: number } {
  const within = 'selectionSet' in node && node.selectionSet ? node.selectionSet.selections.map(count) : []
  const variables = 'variableDefinitions' in node ? (node.variableDefinitions ?? []) : []
  const own = 'directives' in node ? (node.directives?.length ?? 0) : 0
  return {
    fields: sum(within.map((counts) => counts.fields)) + (node.kind === Kind.FIELD ? 1 : 0),
    directives: own + sum([...within.map((c) => c.directives), ...variables.map((v) => v.directives?.length ?? 0)]),
  }
}

interface Spread {
  depth: number
  aliases: number
  /** Fields at the top of the selection. */
  fields: number
  cost: number
}

/** Measures an operation with its fragments spread; each fragment is measured once, however often it is spread. */
function spread(
  document: DocumentNode,
  operation: OperationDefinitionNode,
  variables: Record<string, unknown>,
): Spread {
  const fragments = new Map(
    document.definitions.flatMap((d) => (d.kind === Kind.FRAGMENT_DEFINITION ? [[d.name.value, d] as const] : [])),
  )
  const known = new Map<string, Spread>()
  const nothing: Spread = { depth: 0, aliases: 0, fields: 0, cost: 0 }

  function ofSelections(selections: readonly SelectionNode[]): Spread {
    return selections.map(ofSelection).reduce(
      (a, b) => ({
        depth: Math.max(a.depth, b.depth),
        aliases: a.aliases + b.aliases,
        fields: a.fields + b.fields,
        cost: a.cost + b.cost,
      }),
      nothing,
    )
  }

  function ofSelection(node: SelectionNode): Spread {
    if (node.kind === Kind.FRAGMENT_SPREAD) return ofFragment(node.name.value)
    const within = ofSelections(node.selectionSet?.selections ?? [])
    if (node.kind === Kind.INLINE_FRAGMENT) return within
    return {
      depth: within.depth + 1,
      aliases: within.aliases + (node.alias ? 1 : 0),
      fields: 1,
      cost: within.cost + costOf(node, operation, variables),
    }
  }

  function ofFragment(name: string): Spread {
    const measured = known.get(name)
    if (measured) return measured
    known.set(name, nothing) // a cycle ends here; validation refuses it
    const result = ofSelections(fragments.get(name)?.selectionSet.selections ?? [])
    known.set(name, result)
    return result
  }

  return ofSelections(operation.selectionSet.selections)
}

function costOf(field: FieldNode, operation: OperationDefinitionNode, variables: Record<string, unknown>): number {
  const argument = (name: string): unknown => {
    const value = field.arguments?.find((a) => a.name.value === name)?.value
    if (value?.kind === Kind.INT) return Number(value.value)
    if (value?.kind !== Kind.VARIABLE) return undefined
    const definition = operation.variableDefinitions?.find((d) => d.variable.name.value === value.name.value)
    const fallback = definition?.defaultValue?.kind === Kind.INT ? Number(definition.defaultValue.value) : undefined
    return variables[value.name.value] ?? fallback
  }
  switch (field.name.value) {
    case 'pets': {
      const size = Number(argument('first') ?? argument('last') ?? DEFAULT_PAGE_SIZE)
      return size >= 1 && size <= 100 ? size : 1 // what is out of range is refused before anything is read
    }
    case 'pet':
      return 1
    case 'createPet':
    case 'totalCount':
    case '__schema':
    case '__type':
      return 10
    default:
      return 0
  }
}

function sum(numbers: number[]): number {
  return numbers.reduce((a, b) => a + b, 0)
}
