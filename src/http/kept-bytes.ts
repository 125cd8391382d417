import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import { ApiError } from '../errors.ts'
import { callerOf } from './request.ts'

/** How many bytes the process keeps for one client, and for all of them. */
const MAX_BYTES_OF_CLIENT = 8 * 1024 * 1024
const MAX_BYTES = 64 * 1024 * 1024

const tooManyBytesOfClientError = new ApiError(
  'RESOURCE_EXHAUSTED',
  'Too many requests of this client are incomplete, or too many of its responses have not been read.',
)
const tooManyBytesError = new ApiError(
  'UNAVAILABLE',
  'The service keeps too many incomplete requests; this one was not processed.',
)

interface ClientBytes {
  bytes: number
  /** Oldest first. */
  readonly entries: Set<Entry>
}

interface Entry {
  bytes: number
  readonly client: ClientBytes
  /** Whether this is a response that its client has not read. Otherwise it is a request. */
  readonly isResponse: boolean
  release(): void
  onDrop(error: ApiError): void
}

/**
 * Bounds the memory that clients make the process keep (decision 21): bodies that are arriving, requests that wait before
 * their cost is known, and responses that are not read. If a request takes its client above the client's bound, that
 * request is rejected. If a response does, the client's oldest unread response is cut. Above the bound of the process, the
 * client that holds most loses its oldest request or response, so that other clients are served. What the kernel's buffers
 * take does not count, nor do responses to requests without a key: they are small, or share one copy.
 */
export class KeptBytes {
  readonly #clients = new Map<bigint, ClientBytes>()
  #bytes = 0

  /**
   * Counts `bytes` and the head of a request, which stays in memory while the body arrives or the request waits, until
   * they are released or the response is closed.
   * @param onDrop called, at once or later, with the error that rejects the request, when its bytes have been released
   */
  hold(res: ServerResponse, bytes: number, onDrop: (error: ApiError) => void) {
    const headBytes = res.req.rawHeaders.reduce((sum, text) => sum + text.length, res.req.url?.length ?? 0)
    return this.#count(res, headBytes + bytes, false, onDrop)
  }

  /** Counts an ended response until the kernel has taken all of it. Above a bound, this or another entry is dropped. */
  holdUnread(res: ServerResponse): void {
    const req = res.req as Request // the app's requests are Express's
    if (!req.caller || res.writableLength === 0) return
    // Content-Length is exact: writableLength counts characters of strings. A response to HEAD has no body.
    const length = req.method === 'HEAD' ? undefined : res.getHeader('Content-Length')
    this.#count(res, Number(length ?? res.writableLength), true, ({ code }) => {
      req.errorCode ??= code
      req.socket.destroy()
    })
  }

  #count(res: ServerResponse, bytes: number, isResponse: boolean, onDrop: Entry['onDrop']) {
    const { clientId } = callerOf(res.req as Request) // the app's requests are Express's
    const client = this.#clients.get(clientId) ?? { bytes: 0, entries: new Set() }
    const release = () => {
      res.off('close', release) // else it would keep what onDrop refers to as long as a stream is open
      if (!client.entries.delete(entry)) return
      this.#addBytes(entry, -entry.bytes)
      if (client.entries.size === 0) this.#clients.delete(clientId)
    }
    const entry: Entry = { bytes: 0, client, isResponse, release, onDrop }
    // A response that is destroyed has emitted `close` already, which would have released its bytes: it counts nothing.
    if (!res.destroyed) {
      this.#clients.set(clientId, client)
      client.entries.add(entry)
      res.on('close', release)
      this.#add(entry, bytes)
    }
    return { add: (more: number) => this.#add(entry, more), release }
  }

  #add(entry: Entry, bytes: number): void {
    const { client, isResponse } = entry
    if (!client.entries.has(entry)) return // dropped, or closed
    this.#addBytes(entry, bytes)
    while (client.bytes > MAX_BYTES_OF_CLIENT)
      this.#drop(isResponse ? oldestOf(client, true) : entry, tooManyBytesOfClientError)
    while (this.#bytes > MAX_BYTES) this.#drop(oldestOf(this.#largestClient()), tooManyBytesError)
  }

  #addBytes(entry: Entry, bytes: number): void {
    entry.bytes += bytes
    entry.client.bytes += bytes
    this.#bytes += bytes
  }

  #drop(entry: Entry, error: ApiError): void {
    entry.release()
    entry.onDrop(error)
  }

  /** Called above a bound, so there is a client. */
  #largestClient(): ClientBytes {
    return [...this.#clients.values()].reduce((largest, client) => (client.bytes > largest.bytes ? client : largest))
  }
}

function oldestOf({ entries }: ClientBytes, onlyResponses = false): Entry {
  for (const entry of entries) if (entry.isResponse || !onlyResponses) return entry
  throw new Error('Bytes are counted, but nothing is kept.')
}
