import { hash } from 'node:crypto'
import { type DocumentNode, executeSync, type ExecutionResult, parse } from 'graphql'
import { LRUCache } from 'lru-cache'
import type { Animal } from '../../animals/animal.ts'
import { schema } from '../schema/index.ts'
import type { Edge } from '../schema/connection.ts'
import type { Transport } from './transports.ts'

/** Bounds of the cache of events, in events and in characters: streams send the same ones at about the same time. */
const EVENT_CACHE_SIZE = 1_000
const EVENT_CACHE_MAX_CHARS = 4_000_000

/** Bound of the cache of documents in characters of their texts; a syntax tree takes up to 100 times that. */
const DOCUMENT_CACHE_MAX_CHARS = 50_000

/** @returns formats events; an event is executed once for all streams with the same selection and transport */
export function createFormats() {
  const documents = new LRUCache<string, DocumentNode>({
    maxSize: DOCUMENT_CACHE_MAX_CHARS,
    sizeCalculation: (_document, text) => text.length,
    memoMethod: (text) => parse(text, { noLocation: true }),
  })
  const events = new LRUCache<string, string>({
    max: EVENT_CACHE_SIZE,
    maxSize: EVENT_CACHE_MAX_CHARS,
    sizeCalculation: (event, key) => key.length + event.length,
  })

  return (selection: string, transport: Transport) => {
    const name = hash('sha256', transport.name + selection, 'base64')
    return (edge: Edge<Animal>, toJson: (result: ExecutionResult) => string): string => {
      const cursor = edge.cursor() // of the same list, so it identifies the event
      const formatted = events.get(name + cursor)
      if (formatted !== undefined) return formatted
      const result = executeSync({ schema, document: documents.memo(selection), rootValue: edge })
      const event = transport.result(toJson(result), cursor)
      events.set(name + cursor, event)
      return event
    }
  }
}
