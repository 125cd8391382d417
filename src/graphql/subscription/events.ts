import { executeSync, type ExecutionResult, parse } from 'graphql'
import { LRUCache } from 'lru-cache'
import type { Animal } from '../../pets/animal.ts'
import { schema } from '../schema/index.ts'
import type { Edge } from '../schema/connection.ts'
import type { Transport } from './transports.ts'

/** Bounds of the cache of events, in events and in characters: streams send the same ones at about the same time. */
const EVENT_CACHE_SIZE = 1_000
const EVENT_CACHE_MAX_CHARS = 4_000_000

/** @returns formats events; an event is executed once for all streams with the same selection and transport */
export function createFormats() {
  const events = new LRUCache<string, { node: Animal; text: string }>({
    max: EVENT_CACHE_SIZE,
    maxSize: EVENT_CACHE_MAX_CHARS,
    sizeCalculation: ({ text }, key) => key.length + text.length,
  })

  return (selection: string, transport: Transport) =>
    (edge: Edge<Animal>, toJson: (result: ExecutionResult) => string): string => {
      const cursor = edge.cursor() // of the same list
      const key = transport.contentType + selection + cursor
      const event = events.get(key)
      if (event?.node === edge.node) return event.text // after a restore, another animal may have the same id
      // Parsed for each event: streams keep no syntax tree, which takes up to 100 times the size of its text.
      const document = parse(selection, { noLocation: true })
      const result = executeSync({ schema, document, rootValue: edge })
      const text = transport.result(toJson(result), cursor)
      events.set(key, { node: edge.node, text })
      return text
    }
}
