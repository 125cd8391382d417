import { hash } from 'node:crypto'
import { type DocumentNode, executeSync, type ExecutionResult, parse } from 'graphql'
import { LRUCache } from 'lru-cache'
import type { GraphQLContext } from '../schema/builder.ts'
import { schema } from '../schema/index.ts'
import type { CreatedEdge } from '../schema/subscription.ts'
import type { Transport } from './transports.ts'

/** Bounds of the cache of events, in events and in characters: streams send the same ones at about the same time. */
const EVENT_CACHE_SIZE = 1_000
const EVENT_CACHE_MAX_CHARS = 4_000_000

/** Bound of the cache of documents in characters of their texts; a syntax tree takes up to 100 times that. */
const DOCUMENT_CACHE_MAX_CHARS = 50_000

/** Formats the result of the execution as JSON. */
type ToJson = (result: ExecutionResult) => string

/** An event in the format of the transport. */
export type Format = (edge: CreatedEdge, context: GraphQLContext, toJson: ToJson) => string

interface Event {
  selection: string
  transport: Transport
  edge: CreatedEdge
  cursor: string
  context: GraphQLContext
  toJson: ToJson
}

/** @returns the format of a stream; an event is executed once for all streams with the same selection and transport */
export function createFormats(): (selection: string, transport: Transport) => Format {
  const documents = new LRUCache<string, DocumentNode>({
    maxSize: DOCUMENT_CACHE_MAX_CHARS,
    sizeCalculation: (_document, text) => text.length,
    memoMethod: (text) => parse(text, { noLocation: true }),
  })
  const events = new LRUCache<string, string, Event>({
    max: EVENT_CACHE_SIZE,
    maxSize: EVENT_CACHE_MAX_CHARS,
    sizeCalculation: (event, key) => key.length + event.length,
    memoMethod(_key, _stale, { context: { selection, transport, edge, cursor, context, toJson } }) {
      const document = documents.memo(selection)
      const result = executeSync({ schema, document, contextValue: context, rootValue: edge })
      return transport.result(toJson(result), cursor)
    },
  })

  return (selection, transport) => {
    const name = hash('sha256', transport.name + selection, 'base64')
    return (edge, context, toJson) => {
      const cursor = edge.cursor() // of the same list, so it identifies the event
      return events.memo(name + cursor, { context: { selection, transport, edge, cursor, context, toJson } })
    }
  }
}
