import type { Request } from 'express'
import { executeSync, type GraphQLSchema, parse, print, visit } from 'graphql'
import { LRUCache } from 'lru-cache'
import { copyOf } from '../../http/request.ts'
import type { Item, Resource } from '../../store/resource.ts'
import type { Observe } from '../../telemetry/observation.ts'
import type { RequestedOperation } from '../context.ts'
import { toGraphQLError } from '../errors.ts'
import type { Edge } from '../schema/connection.ts'
import type { Transport } from './transports.ts'

/** Bounds of the cache of events, in events and in characters. Streams send the same events at about the same time. */
const EVENT_CACHE_SIZE = 1_000
const EVENT_CACHE_MAX_CHARS = 4_000_000

/** What a stream keeps of its request. Streams with the same text and options send an event in the same form. */
export type Selection = ReturnType<typeof toSelection>

/** `options` has only the variables of directives. Other variables change no event, since its fields have no arguments. */
export function toSelection({ document, operation, variables }: RequestedOperation, isPrinted: boolean) {
  const operationName = operation.name?.value
  const inDirectives = new Set<string>()
  visit(document, {
    Directive: (directive) => void visit(directive, { Variable: ({ name }) => void inDirectives.add(name.value) }),
  })
  // Other plugins may have changed the document, which then differs from the text of its request.
  const text = isPrinted ? print(document) : copyOf(document.loc?.source.body ?? '')
  const used = Object.fromEntries([...inDirectives].map((name) => [name, variables[name]]))
  return { text, options: JSON.stringify([operationName, used]), operationName, variables }
}

/** @returns a function that formats an event. Streams with the same text, options and transport share its execution */
export function createEventFormat(schema: GraphQLSchema, observe: Observe) {
  const events = new LRUCache<string, { node: Item<Resource>; text: string }>({
    max: EVENT_CACHE_SIZE,
    maxSize: EVENT_CACHE_MAX_CHARS,
    sizeCalculation: ({ text }, key) => key.length + text.length,
  })

  return (selection: Selection, transport: Transport, edge: Edge<Item<Resource>>, req: Request): string => {
    const { text: document, options, operationName, variables } = selection
    const cursor = edge.cursor()
    const key = transport.contentType + cursor + options + document
    const event = events.get(key)
    if (event?.node === edge.node) return event.text // after a restore, another item may have the same id
    const { data, errors } = executeSync({
      schema,
      // Parsed for each event: streams keep no syntax tree, which takes up to 100 times the size of its text.
      document: parse(document, { noLocation: true }),
      operationName,
      variableValues: variables,
      rootValue: edge,
    })
    const formatted = errors?.map((error) => toGraphQLError(error, undefined, observe, req))
    const text = transport.result(JSON.stringify({ errors: formatted, data }), cursor)
    events.set(key, { node: edge.node, text })
    return text
  }
}
