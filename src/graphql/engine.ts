import type { DocumentNode, GraphQLError, OperationDefinitionNode } from 'graphql'
import { getVariableValues } from 'graphql'
import { createYoga, type YogaInitialContext } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { limits } from './limits.ts'
import { schema } from './schema/index.ts'

/** Bound of the parser and validation caches in bytes: about 100 documents of 200 tokens. */
const DOCUMENT_CACHE_MAX_BYTES = 4_000_000

/** Size of a token in a syntax tree. */
const TOKEN_BYTES = 200

export type Engine = ReturnType<typeof createEngine>

/**
 * Yoga's parser and validator with their caches. Yoga's Fetch layer is not used, so that both APIs read and write bodies,
 * errors and headers in the same way.
 */
export function createEngine() {
  const yoga = createYoga({
    schema,
    logging: false,
    maskedErrors: false, // toGraphQLError maps them
    parserAndValidationCache: { documentCache: boundedCache<DocumentNode>(), errorCache: boundedCache<Error>() },
  })
  // Enveloped once: no plugin reads the initial context, whose members are for Yoga's Fetch layer.
  const { parse, validate } = yoga.getEnveloped({} as YogaInitialContext)

  return {
    parse(text: string): DocumentNode {
      return parse(text, { maxTokens: limits.tokens })
    },
    validate(document: DocumentNode): readonly GraphQLError[] {
      return validate(schema, document, undefined, { maxErrors: 5 })
    },
    /** @returns undefined when a variable does not fit its type: invalidVariables says what is wrong */
    coerceVariables({ variableDefinitions = [] }: OperationDefinitionNode, variables: Record<string, unknown> = {}) {
      // Each error would describe the whole value, so coercion stops at the first.
      return getVariableValues(schema, variableDefinitions, variables, { maxErrors: 0 }).coerced
    },
  }
}

function boundedCache<T extends object>() {
  return new LRUCache<string, T>({
    max: 1_000,
    maxSize: DOCUMENT_CACHE_MAX_BYTES,
    sizeCalculation: (value, text) =>
      text.length + TOKEN_BYTES * ('tokenCount' in value ? Number(value.tokenCount) : 1),
  })
}
