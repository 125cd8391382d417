import { type DocumentNode, execute, Kind, type OperationDefinitionNode, visit } from 'graphql'
import { LRUCache } from 'lru-cache'
import type { GraphQLContext } from '../schema/builder.ts'
import { schema } from '../schema/index.ts'
import type { CreatedEdge } from '../schema/subscription.ts'

/** Bound of the cache of results in characters: streams of the same operation send an event at about the same time. */
const RESULT_CACHE_MAX_CHARS = 8_000_000

/** What a promise counts in the cache: it is replaced as soon as it is resolved. */
const PENDING_SIZE = 1_000

/** What streams may share the results of. */
interface Operation {
  document: DocumentNode
  operation: OperationDefinitionNode
  variables: Record<string, unknown>
}

/** A subscription's results. */
export interface Results {
  /** Streams with the same results have the same name, as long as one of them is open. */
  name: number
  /** The result of an event, as JSON. */
  toJson(edge: CreatedEdge, context: GraphQLContext): string | Promise<string>
}

/** Formats a result of the execution as JSON. */
type Format = (result: Awaited<ReturnType<typeof execute>>) => string

/** Executes an operation once for each event and variables, however many streams send the result. */
export function createResults() {
  const cache = new LRUCache<string, string | Promise<string>>({
    maxSize: RESULT_CACHE_MAX_CHARS,
    sizeCalculation: (json, key) => key.length + (typeof json === 'string' ? json.length : PENDING_SIZE),
  })
  /** By the text of everything that results depend on: a short name for it, while a stream uses it. */
  const names = new Map<string, { name: number; streams: number }>()
  let lastName = 0

  function open(key: string): number {
    const entry = names.get(key) ?? { name: ++lastName, streams: 0 }
    names.set(key, entry)
    entry.streams++
    return entry.name
  }

  function close(key: string): void {
    const entry = names.get(key)
    if (entry && --entry.streams === 0) names.delete(key)
  }

  /** @param signal aborted when the stream ends */
  return (shared: Operation, format: Format, signal: AbortSignal): Results => {
    const key = keyOf(shared)
    const name = open(key)
    if (signal.aborted) close(key)
    else signal.addEventListener('abort', () => close(key), { once: true })

    const toJson = (edge: CreatedEdge, contextValue: GraphQLContext) => {
      const event = `${name}:${edge.node.id}`
      const cached = cache.get(event)
      if (cached !== undefined) return cached
      const { document, operation, variables: variableValues } = shared
      const operationName = operation.name?.value
      const result = execute({ schema, document, operationName, contextValue, variableValues, rootValue: edge })
      const json = result instanceof Promise ? result.then(format) : format(result)
      cache.set(event, json)
      if (json instanceof Promise) void json.then((text) => cache.set(event, text)).catch(() => cache.delete(event))
      return json
    }
    return { name, toJson }
  }
}

/**
 * Everything that results depend on: the document and the operation's variables, without the one that says where a stream
 * begins. Others may have any value, such as a bigint, which JSON.stringify throws on.
 */
function keyOf({ document, operation, variables }: Operation): string {
  const start = startVariableOf(document)
  const names = operation.variableDefinitions?.map(({ variable }) => variable.name.value) ?? []
  const values = names
    .filter((name) => name !== start && Object.hasOwn(variables, name))
    .map((name) => [name, variables[name]])
  return JSON.stringify([document.loc?.source.body, operation.name?.value, values])
}

/** The variable that is used once in a document, for the argument `after`. */
function startVariableOf(document: DocumentNode): string | undefined {
  const uses = new Map<string, number>()
  let start: string | undefined
  visit(document, {
    Argument({ name, value }) {
      if (name.value === 'after' && value.kind === Kind.VARIABLE) start = value.name.value
    },
    Variable({ name: { value } }, _key, parent) {
      const isDefinition = parent && 'kind' in parent && parent.kind === Kind.VARIABLE_DEFINITION
      if (!isDefinition) uses.set(value, (uses.get(value) ?? 0) + 1)
    },
  })
  return start !== undefined && uses.get(start) === 1 ? start : undefined
}
