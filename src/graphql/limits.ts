import type { DocumentNode, GraphQLSchema, ValidationRule } from 'graphql'
import { GraphQLError, NoFragmentCyclesRule, parse, UniqueFragmentNamesRule, validate } from 'graphql'
import type { Analyze } from './analysis.ts'
import type { Plugin } from './context.ts'

/** Limits of one request. The parser counts tokens; the cost is computed after validation, the others before it. */
export const limits = {
  tokens: 800, // validation compares fragments in pairs; introspection queries of common clients need 190
  lines: 500, // graphql-js counts them for each error, of an execution too: with 1,000 and 60 errors for 10 ms
  variables: 50, // graphql-js reports each that is not used or not defined
  aliases: 100, // each is a value for each object: with 260 and 100 items, execution takes 15 ms
  introspectionAliases: 30, // introspection is executed at once, and each alias repeats what it selects
  aliasLength: 255, // a response repeats it for each object
  selections: 300, // validation compares fields of one name in pairs; introspection queries need 240
  subscriptionLength: 8_000, // each stream keeps the text of its document
  cost: 1_000,
}

/** A rejected request has at most so many errors. */
const MAX_ERRORS = 5

/** How graphql-js reports errors: without names of the schema that a client may have meant. */
export const REPORT = { maxErrors: MAX_ERRORS, hideSuggestions: true }

/** Measures of a request that need neither the schema nor variables. */
export type QueryStats = Record<Exclude<keyof typeof limits, 'tokens' | 'cost'>, number>

const LIMIT_LABELS: Record<keyof QueryStats, string> = {
  lines: 'The number of lines',
  variables: 'The number of variables',
  aliases: 'The number of aliases',
  introspectionAliases: 'The number of aliases in introspection',
  aliasLength: 'The length of an alias',
  selections: 'The number of selections with fragments expanded',
  subscriptionLength: 'The length of a document with a subscription',
}

type Rules = readonly ValidationRule[]
type Validate = (schema: GraphQLSchema, document: DocumentNode, rules?: Rules) => readonly GraphQLError[]

/** Bounds what the parser, the validation and the execution of a document take. */
export function useLimits(analyze: Analyze): Plugin {
  const check: Validate = (schema, document, rules) => {
    // With fragments in a cycle, other rules take unbounded time. NoFragmentCyclesRule skips fragments with the same name.
    const cycles = validate(schema, document, [UniqueFragmentNamesRule, NoFragmentCyclesRule], { maxErrors: 1 })
    if (cycles.length) return cycles
    const analysis = analyze(document)
    const exceeded = checkLimits(analysis)
    if (exceeded.length) return exceeded
    // The GraphQL specification rejects @skip and @include there. graphql-js 16 throws in validation or execution instead.
    const { conditional: nodes } = analysis
    const message = 'The root field of a subscription must not have @skip or @include.'
    if (nodes.length) return [new GraphQLError(message, { nodes })]
    return validate(schema, document, rules, REPORT)
  }
  const checkOnce = onceForRules(check)
  return {
    onParse: ({ setParseFn }) => setParseFn(parseWithinLimits),
    onValidate: ({ setValidationFn }) => setValidationFn(checkOnce),
  }
}

/** Validates a document once, as long as it is kept. Yoga's cache joins the names of all rules for each request. */
function onceForRules(check: Validate): Validate {
  const known = new WeakMap<DocumentNode, { rules: Rules; errors: readonly GraphQLError[] }>()
  return (schema, document, rules = []) => {
    const last = known.get(document)
    if (last?.rules.length === rules.length && rules.every((rule, n) => rule === last.rules[n])) return last.errors
    const errors = check(schema, document, rules)
    known.set(document, { rules, errors })
    return errors
  }
}

/** @throws GraphQLError */
function parseWithinLimits(text: string): DocumentNode {
  try {
    return parse(text, { maxTokens: limits.tokens })
  } catch (error) {
    // The parser is recursive: deep nesting may exceed the stack before the limit of tokens.
    throw error instanceof RangeError ? new GraphQLError('The document is nested too deep.') : error
  }
}

export function checkLimits(stats: QueryStats): GraphQLError[] {
  return (Object.keys(LIMIT_LABELS) as (keyof QueryStats)[]) // the keys of the type's own record
    .filter((name) => stats[name] > limits[name])
    .map((name) => limitExceeded(LIMIT_LABELS[name], stats[name], limits[name]))
}

export function limitExceeded(label: string, value: number, limit: number): GraphQLError {
  const extensions = { code: 'GRAPHQL_VALIDATION_FAILED' }
  return new GraphQLError(`${label} is ${value}; the limit is ${limit}.`, { extensions })
}
