import { once } from 'node:events'
import type { Request, Response } from 'express'
import { noLongerValidError } from '../../auth/authenticate.ts'
import { ApiError, toApiError } from '../../errors.ts'
import { recordError } from '../../http/error-handler.ts'
import { callerOf, copyOf } from '../../http/request.ts'
import { appOf } from '../../telemetry/log-observer.ts'
import type { GraphQLDependencies, Subscription } from '../context.ts'
import { toErrors } from '../errors.ts'
import { PART_BYTES } from './subscribe.ts'
import { SSE, type Transport } from './transports.ts'

const notVerifiedError = new ApiError('UNAVAILABLE', 'The API key could not be verified: subscribe again.')

/** Pause between two heartbeats, in milliseconds: common proxies close a connection that is idle for 15 seconds or more. */
const HEARTBEAT_MS = 12_000

/** Sends a result and the end of its operation as an event stream, to clients that accept nothing else. */
export function sendSingleResult(res: Response, json: string): void {
  beginStream(res, SSE)
  res.end(Buffer.from(SSE.result(json) + SSE.complete)) // for a string, `writableLength` counts characters, not bytes
}

/** Sends the results of a subscription. To save memory, the next part is read when the client has taken the last one. */
export async function sendStream(
  req: Request,
  res: Response,
  subscription: Subscription,
  dependencies: Pick<GraphQLDependencies, 'limits' | 'keptBytes' | 'observe'>,
): Promise<void> {
  const { stream, transport } = subscription
  const { limits, observe } = dependencies
  if (res.destroyed) return // the client has gone before the stream began
  stream.beganAfterMs = req.deadline.elapsedMs
  req.stream = stream
  beginStream(res, transport)
  releaseRequest(req)
  // Behind earlier responses on the connection, Node would keep all that is written.
  if (!res.socket) await once(res, 'socket', { signal: stream.signal }).catch(() => {})
  if (res.destroyed) return
  if (res.socket) req.socket.setTimeout(0) // switches off the server's timeout, which a pause between events may exceed
  res.write(transport.begin)
  const heartbeat = setInterval(() => res.writableNeedDrain || res.write(transport.heartbeat), HEARTBEAT_MS)
  const failure = await writeParts(req, res, subscription, dependencies)
  clearInterval(heartbeat)
  if (failure && failure.code !== 'INVALID_ARGUMENT') recordError(observe, failure, req)
  if (res.destroyed) return
  // A stream counts as open until the client has taken its end.
  if (res.socket) closeWhenIdle(req, res, limits.writeTimeoutMs, () => res.destroy())
  // Clients reconnect unless they get `complete`. It is sent only to clients that cannot continue.
  const endWith = (error: ApiError, complete = transport.complete) =>
    res.end(transport.result(JSON.stringify({ errors: toErrors(error, observe, req) })) + complete)
  if (stream.endReason === 'unauthenticated') endWith(noLongerValidError(callerOf(req)))
  else if (stream.endReason === 'unverified') endWith(notVerifiedError, '')
  else if (failure?.code === 'INVALID_ARGUMENT') endWith(failure)
  else res.end()
}

/** Writes parts until the stream ends. @returns the error that has ended it, if one has */
async function writeParts(
  req: Request,
  res: Response,
  { stream, nextPart }: Subscription,
  { limits, keptBytes }: Pick<GraphQLDependencies, 'limits' | 'keptBytes'>,
): Promise<ApiError | undefined> {
  const cut = () => {
    stream.end('slow')
    res.destroy()
  }
  try {
    for (;;) {
      const { data, events } = await nextPart()
      stream.signal.throwIfAborted()
      stream.events += events
      if (res.write(data)) continue
      const stop = closeWhenIdle(req, res, limits.writeTimeoutMs, cut)
      const hold = keptBytes.hold(res, Math.max(0, data.length - PART_BYTES), cut) // only one large event is larger
      await once(res, 'drain', { signal: stream.signal }).finally(stop).finally(hold.release)
    }
  } catch (error) {
    const failure = stream.signal.aborted ? undefined : toApiError(error)
    stream.end('error')
    return failure
  }
}

function beginStream(res: Response, { contentType }: Transport): void {
  res.status(200)
  res.setHeader('Content-Type', contentType)
  res.setHeader('Cache-Control', 'no-store, no-transform') // no proxy compresses it, which would delay events
  res.setHeader('X-Accel-Buffering', 'no') // nginx does not buffer it
  res.flushHeaders()
}

/** Frees what the rest of the stream does not need of its request, which the response keeps in memory. */
function releaseRequest(req: Request): void {
  req.removeAllListeners() // the listeners that read the body keep it in memory
  const { traceparent = '' } = req.headers
  const app = appOf(req)
  req.headers = { traceparent, ...(app && { 'graphql-client-name': copyOf(app) }) } // for the log
  req.rawHeaders = []
  req.url = req.originalUrl = req.path
  Reflect.deleteProperty(req, '_parsedUrl') // Express's
  if (req.operation?.name) req.operation.name = copyOf(req.operation.name)
}

/** Closes the connection when its client takes nothing for too long. @returns a function that stops watching it */
function closeWhenIdle(req: Request, res: Response, timeoutMs: number, close: () => void): () => void {
  req.socket.setTimeout(timeoutMs) // each part of a write that the system takes restarts it
  res.once('timeout', close)
  return () => {
    res.off('timeout', close)
    req.socket.setTimeout(0)
  }
}
