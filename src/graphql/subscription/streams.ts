import type { Response } from 'express'
import type { Caller } from '../../auth/api-keys.ts'
import type { KeyHash } from '../../auth/key-lookup.ts'
import type { Config } from '../../config.ts'
import { ApiError } from '../../errors.ts'

/** How often the keys of streams are verified, in milliseconds: with KEY_CACHE_MS less than five seconds. */
const VERIFY_MS = 2_000

/** Why a stream has ended. */
export type EndReason = 'client' | 'slow' | 'unauthenticated' | 'shutdown' | 'error'

/** The response to a subscription. */
export interface Stream {
  /** Aborted when the stream ends. */
  readonly signal: AbortSignal
  readonly endReason: EndReason | undefined
  /** Does nothing after the first call. */
  end(reason: EndReason): void
  countEvents(count: number): void
}

/** All open streams of the process. */
export interface Streams {
  /**
   * Opens a stream, until its response is closed.
   * @throws ApiError RESOURCE_EXHAUSTED, UNAVAILABLE when too many of the client, or of all, are open
   */
  open(res: Response, caller: Caller, key: KeyHash): Stream
  /** Ends all streams, also new ones, at random moments within `ms`, so that not all clients reconnect at once. */
  drain(ms: number): void
  readonly size: number
  /** Events that were sent since the start. */
  readonly events: number
  /** Streams that have ended since the start, by reason. */
  readonly ended: Readonly<Record<EndReason, number>>
}

type StreamLimits = Pick<Config, 'STREAM_LIMIT' | 'STREAM_LIMIT_PER_KEY'>

/** @param verifyKey whether the key of a caller is still valid */
export function createStreams(
  limits: StreamLimits,
  verifyKey: (key: KeyHash, caller: Caller) => Promise<boolean>,
): Streams {
  const all = new Map<Stream, { key: KeyHash; caller: Caller }>()
  const reserve = limitStreams(limits)
  const ended: Record<EndReason, number> = { client: 0, slow: 0, unauthenticated: 0, shutdown: 0, error: 0 }
  let events = 0
  let drainedAtMs: number | undefined

  function open(res: Response, caller: Caller, key: KeyHash): Stream {
    const release = reserve(caller.clientId)
    const stream = createStream((count) => void (events += count))
    all.set(stream, { key, caller })
    if (drainedAtMs !== undefined) endWithin(stream, drainedAtMs - performance.now())
    const close = () => {
      stream.end('client')
      all.delete(stream)
      release()
      if (res.req.stream && stream.endReason) ended[stream.endReason]++
    }
    if (res.destroyed)
      close() // there will be no event: the client has gone before this
    else res.once('close', close)
    return stream
  }

  /** Ends the streams whose keys are no longer valid. */
  function verifyAll(): void {
    const results = new Map<bigint, Promise<boolean>>()
    for (const [stream, { key, caller }] of all) {
      const result = results.get(caller.keyId) ?? verifyKey(key, caller)
      results.set(caller.keyId, result)
      void result.then((isValid) => isValid || stream.end('unauthenticated'))
    }
  }
  setInterval(verifyAll, VERIFY_MS).unref()

  return {
    open,
    drain(ms) {
      drainedAtMs = performance.now() + ms
      for (const stream of all.keys()) endWithin(stream, ms)
    },
    get size() {
      return all.size
    },
    get events() {
      return events
    },
    ended,
  }
}

function createStream(countEvents: Stream['countEvents']): Stream {
  const controller = new AbortController()
  let endReason: EndReason | undefined
  return {
    signal: controller.signal,
    get endReason() {
      return endReason
    },
    end(reason) {
      endReason ??= reason
      controller.abort()
    },
    countEvents,
  }
}

/** @returns counts a stream of a client, and returns a function that releases it */
function limitStreams({ STREAM_LIMIT, STREAM_LIMIT_PER_KEY }: StreamLimits): (clientId: bigint) => () => void {
  const byClient = new Map<bigint, number>()
  let size = 0
  return (clientId) => {
    const own = byClient.get(clientId) ?? 0
    if (STREAM_LIMIT_PER_KEY && own >= STREAM_LIMIT_PER_KEY) throw tooManyOfKey(STREAM_LIMIT_PER_KEY)
    if (STREAM_LIMIT && size >= STREAM_LIMIT) throw new ApiError('UNAVAILABLE', 'Too many subscriptions are open.')
    byClient.set(clientId, own + 1)
    size++
    return () => {
      const left = (byClient.get(clientId) ?? 1) - 1
      if (left > 0) byClient.set(clientId, left)
      else byClient.delete(clientId)
      size--
    }
  }
}

function tooManyOfKey(limit: number): ApiError {
  const message = `This key has ${limit} open subscriptions, the limit of one process.`
  return new ApiError('RESOURCE_EXHAUSTED', message, { headers: { 'Retry-After': '1' } })
}

function endWithin(stream: Stream, ms: number): void {
  setTimeout(() => stream.end('shutdown'), Math.random() * ms).unref()
}
