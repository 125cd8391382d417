import { GraphQLError } from 'graphql'

/**
 * Maximum number of tokens. Validation compares fragments in pairs, and the parser is recursive: 800 tokens that nest as
 * deep as possible take half of Node's default stack. Common introspection queries have 190 tokens.
 */
export const MAX_TOKENS = 800

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

export function exceededLimits(stats: DocumentStats): GraphQLError[] {
  return Object.entries(DOCUMENT_LIMITS).flatMap(([name, { label, limit }]) => {
    const value = stats[name as keyof DocumentStats] // LIMITS has no other keys
    return value > limit ? limitExceededError(label, value, limit) : []
  })
}

export function limitExceededError(label: string, value: number, limit: number): GraphQLError {
  const extensions = { code: 'GRAPHQL_VALIDATION_FAILED' }
  return new GraphQLError(`${label} is ${value}; the limit is ${limit}.`, { extensions })
}
