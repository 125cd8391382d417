import type { Request, Response } from 'express'
import type { ReplicaObservation } from '../database/replicas.ts'
import type { DatabaseState } from '../database/readiness.ts'
import type { ApiError, ErrorCode } from '../errors.ts'

/** An event that a part of the service reports once. The log and the metrics decide what to do with it. */
export type Observation =
  /** The response is complete, or the client has disconnected. */
  | { type: 'request'; req: Request; res: Response; status: number }
  /** The HTTP server has rejected input that never became a request for the app. */
  | { type: 'request-rejected'; requestId: string; status: number; code: ErrorCode }
  | { type: 'error'; error: ApiError; req: Request }
  | { type: 'deprecated-call'; keyPrefix: string }
  | { type: 'token-rejected'; reason: string }
  /** The keys of OIDC_ISSUER were not read. */
  | { type: 'issuer-failed'; error: unknown }
  | ({ type: 'database-checked' } & DatabaseState)
  | ReplicaObservation
  /** New items of the resource were not read; the feed reads again. */
  | { type: 'feed-failed'; resource: string; error: unknown }
  /** For how long new items of the resource have waited for a transaction, and what an operator must repair, if anything. */
  | { type: 'sequence-read'; resource: string; lagMs: number; problem: string | undefined }
  | { type: 'job-failed'; error: unknown }

export type Observe = (observation: Observation) => void
