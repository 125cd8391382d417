import type { Response } from 'express'
import type { KeyHash } from '../../auth/api-keys.ts'
import { KEY_CACHE_MS } from '../../auth/key-lookup.ts'
import type { Config } from '../../config/config.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../http/request.ts'
import type { Limits } from '../../config/limits.ts'

/** How often the keys and tokens of streams are verified, in ms. This and KEY_CACHE_MS are less than 5 s together. */
export const VERIFY_MS = 2_000

/** A stream ends when its key was not verified for this time, in ms. It is less than 5 s, because timers are late. */
const MAX_UNVERIFIED_MS = 4_900

/** The reasons why a stream ends, each with a count of zero. */
const NO_ENDS = { client: 0, slow: 0, unauthenticated: 0, unverified: 0, shutdown: 0, error: 0 }
type EndReason = keyof typeof NO_ENDS

/** The response to a subscription. */
class Stream extends AbortController {
  events = 0
  /** When the response began, in milliseconds after the request. */
  beganAfterMs = 0
  /** When the key or token was last known to be valid. At the start, the result may be from the cache, KEY_CACHE_MS old. */
  verifiedAtMs = performance.now() - KEY_CACHE_MS

  get endReason(): EndReason | undefined {
    return this.signal.reason
  }

  /** Ends the stream. Only the first reason counts. */
  end(reason: EndReason): void {
    this.abort(reason)
  }
}

export type Streams = ReturnType<typeof createStreams>

type StreamLimits = Pick<Config, 'STREAM_LIMIT'> & Pick<Limits, 'streamsPerClient' | 'verifyTimeoutMs'>

/** @param verifyKey whether the key or token of a caller is still valid; rejects if that cannot be found out */
export function createStreams(limits: StreamLimits, verifyKey: (keyHash: KeyHash, caller: Caller) => Promise<boolean>) {
  const openStreams = new Map<Stream, { keyHash: KeyHash; caller: Caller }>()
  const countByClient = new Map<bigint, number>()
  const endedCounts = { ...NO_ENDS }
  let closedEvents = 0
  let drainedAtMs: number | undefined

  const countOf = (clientId: bigint) => countByClient.get(clientId) ?? 0

  /** Opens a stream, until its response is closed. @throws ApiError RESOURCE_EXHAUSTED, UNAVAILABLE above a limit */
  function open(res: Response, caller: Caller, keyHash: KeyHash): Stream {
    const { clientId } = caller
    requireRoom(limits, openStreams.size, countOf(clientId))
    const stream = new Stream()
    openStreams.set(stream, { keyHash, caller })
    countByClient.set(clientId, countOf(clientId) + 1)
    if (drainedAtMs !== undefined) endWithin(stream, drainedAtMs - performance.now())
    const close = () => {
      stream.end('client')
      openStreams.delete(stream)
      closedEvents += stream.events
      const count = countOf(clientId) - 1
      if (count) countByClient.set(clientId, count)
      else countByClient.delete(clientId)
      if (res.req.stream && stream.endReason) endedCounts[stream.endReason]++
    }
    if (res.destroyed)
      close() // the client has gone already, so there will be no event
    else res.once('close', close)
    return stream
  }

  function verifyAll(): void {
    const results = new Map<KeyHash, Promise<boolean>>()
    for (const [stream, { keyHash, caller }] of openStreams) {
      const result = results.get(keyHash) ?? verifyKey(keyHash, caller)
      results.set(keyHash, result)
      void endUnlessValid(stream, result, limits.verifyTimeoutMs)
    }
  }

  return {
    open,
    verifyAll,
    /** Ends all streams, also new ones, at random moments within `ms`, so that not all clients reconnect at once. */
    drain(ms: number): void {
      drainedAtMs = performance.now() + ms
      for (const stream of openStreams.keys()) endWithin(stream, ms)
    },
    get size() {
      return openStreams.size
    },
    get events() {
      return [...openStreams.keys()].reduce((sum, stream) => sum + stream.events, closedEvents)
    },
    endedCounts: endedCounts as Readonly<typeof endedCounts>,
  }
}

/**
 * Ends the stream if its key is not valid, or if MAX_UNVERIFIED_MS passes during this verification, which may wait seconds
 * for the state of the database, or would pass before the next one.
 * @param result of the verification
 * @param minMs how long the verification may take after a pause of the process
 */
async function endUnlessValid(stream: Stream, result: Promise<boolean>, minMs: number): Promise<void> {
  const beganAtMs = performance.now()
  const leftMs = () => stream.verifiedAtMs + MAX_UNVERIFIED_MS - performance.now()
  let timer: NodeJS.Timeout | undefined
  function endAfter(ms: number): void {
    // It waits again if a later verification has succeeded.
    const endOrWait = () => (leftMs() > 1 ? endAfter(leftMs()) : stream.end('unverified'))
    timer = setTimeout(endOrWait, ms).unref()
  }
  endAfter(Math.max(leftMs(), minMs))
  try {
    if (await result) stream.verifiedAtMs = Math.max(stream.verifiedAtMs, beganAtMs)
    else stream.end('unauthenticated')
  } catch {
    if (beganAtMs + VERIFY_MS - stream.verifiedAtMs > MAX_UNVERIFIED_MS) stream.end('unverified')
  } finally {
    clearTimeout(timer)
  }
}

/** @throws ApiError at a limit. @param own number of streams of the client */
function requireRoom({ STREAM_LIMIT, streamsPerClient }: StreamLimits, size: number, own: number): void {
  if (own >= streamsPerClient) {
    const message = `This client has ${streamsPerClient} open subscriptions, the limit of one process.`
    throw new ApiError('RESOURCE_EXHAUSTED', message)
  }
  if (STREAM_LIMIT && size >= STREAM_LIMIT) throw new ApiError('UNAVAILABLE', 'Too many subscriptions are open.')
}

const endWithin = (stream: Stream, ms: number) => setTimeout(() => stream.end('shutdown'), Math.random() * ms).unref()
