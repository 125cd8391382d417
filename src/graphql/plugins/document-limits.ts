import type { ASTVisitor, DocumentNode, GraphQLSchema, SelectionNode, ValidationContext, ValidationRule } from 'graphql'
import { GraphQLError, NoFragmentCyclesRule, parse, specifiedRules, UniqueFragmentNamesRule, validate } from 'graphql'
import { LRUCache } from 'lru-cache'
import { lazyFor } from '../../lazy.ts'
import type { Analyze } from '../analysis.ts'
import type { Plugin } from '../context.ts'

/**
 * Maximum number of tokens. Validation compares fragments in pairs, and the parser is recursive: 800 tokens that nest as
 * deep as possible take half of Node's default stack. Common introspection queries have 190 tokens.
 */
export const MAX_TOKENS = 800

/** The bound of the cache of documents, and the size of a token in a syntax tree, both in bytes. */
const DOCUMENT_CACHE_MAX_BYTES = 4_000_000
const TOKEN_BYTES = 200

/** How much an operation may cost, in points. */
export const MAX_COST = 1_000

/** Limits of a document before its validation, and how an error names what they limit. */
export const DOCUMENT_LIMITS = {
  lines: { limit: 500, label: 'The number of lines' }, // counted for each error: 1,000 lines and 60 errors take 10 ms
  variables: { limit: 50, label: 'The number of variables' }, // graphql-js reports each that is unused or undefined
  aliases: { limit: 100, label: 'The number of aliases' }, // with 260 of them and 100 items, execution takes 15 ms
  introspectionAliases: { limit: 30, label: 'The number of aliases in introspection' }, // each repeats what it selects
  aliasLength: { limit: 255, label: 'The length of an alias' }, // a response repeats it for each object
  selections: { limit: 300, label: 'The number of selections with fragments expanded' }, // introspection needs 240
  subscriptionLength: { limit: 8_000, label: 'The length of a document with a subscription' }, // each stream keeps it
}

/** How graphql-js reports errors: without names of the schema that a client may have meant. */
export const ERROR_OPTIONS = { maxErrors: 5, hideSuggestions: true }

type DocumentStats = Record<keyof typeof DOCUMENT_LIMITS, number>

/** Bounds what the parser, the validation and the execution of a document take. */
export function useLimits(schema: GraphQLSchema, analyze: Analyze): Plugin {
  function check(document: DocumentNode, rules = specifiedRules) {
    const rejected = validate(schema, document, FIRST_RULES, { maxErrors: 1 })
    if (rejected.length) return rejected
    const exceeded = exceededLimits(analyze(document))
    return exceeded.length ? exceeded : validate(schema, document, rules, ERROR_OPTIONS)
  }
  const checkOnce = lazyFor(check)
  const documents = new LRUCache<string, DocumentNode>({
    max: 1_000,
    maxSize: DOCUMENT_CACHE_MAX_BYTES,
    sizeCalculation: ({ tokenCount = 0 }, text) => text.length + TOKEN_BYTES * tokenCount,
    memoMethod: (text) => parse(text, { maxTokens: MAX_TOKENS }),
  })
  return {
    // Yoga's caches would take two hooks of each request, and join the names of all rules each time.
    onParse: ({ setParseFn }) => setParseFn((text) => documents.memo(text)),
    // Plugins may add rules to some requests.
    onValidate: ({ setValidationFn }) =>
      setValidationFn((_schema, document: DocumentNode, rules: readonly ValidationRule[] = specifiedRules) =>
        rules.length > specifiedRules.length ? check(document, rules) : [...checkOnce(document)],
      ),
  }
}

/**
 * Rejects a subscription whose root field has `@skip` or `@include`, as the GraphQL specification requires. graphql-js 16
 * has no rule for this: it throws in validation or execution.
 */
function noConditionalSubscription(context: ValidationContext): ASTVisitor {
  const type = context.getSchema().getSubscriptionType()
  const enter = (nodes: SelectionNode) => {
    if (!type || context.getParentType() !== type || !nodes.directives?.length) return
    const message = 'The root field of a subscription must not have @skip or @include.'
    context.reportError(new GraphQLError(message, { nodes }))
  }
  return { Field: enter, FragmentSpread: enter, InlineFragment: enter }
}

/**
 * These rules run first, because other rules take unbounded time for fragments in a cycle. NoFragmentCyclesRule alone would
 * not find each cycle: it skips fragments with the same name.
 */
const FIRST_RULES = [UniqueFragmentNamesRule, NoFragmentCyclesRule, noConditionalSubscription]

export function exceededLimits(stats: DocumentStats): GraphQLError[] {
  return Object.entries(DOCUMENT_LIMITS).flatMap(([name, { label, limit }]) => {
    const value = stats[name as keyof DocumentStats] // the keys of the type's own record
    return value > limit ? limitExceededError(label, value, limit) : []
  })
}

export function limitExceededError(label: string, value: number, limit: number): GraphQLError {
  const extensions = { code: 'GRAPHQL_VALIDATION_FAILED' }
  return new GraphQLError(`${label} is ${value}; the limit is ${limit}.`, { extensions })
}
