import type { ASTVisitor, DocumentNode, GraphQLSchema, SelectionNode, ValidationContext, ValidationRule } from 'graphql'
import { GraphQLError, NoFragmentCyclesRule, parse, specifiedRules, UniqueFragmentNamesRule, validate } from 'graphql'
import { LRUCache } from 'lru-cache'
import { lazyFor } from '../../lib/lazy.ts'
import type { Analyze } from '../analysis.ts'
import type { Plugin } from '../context.ts'
import { ERROR_OPTIONS, exceededLimits, MAX_TOKENS } from '../document-limits.ts'

/** The bound of the cache of documents, and the size of a token in a syntax tree, both in bytes. */
const DOCUMENT_CACHE_MAX_BYTES = 4_000_000
const TOKEN_BYTES = 200

/** Parses and validates documents, and bounds what this and their execution take. */
export function useValidation(schema: GraphQLSchema, analyze: Analyze): Plugin {
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
