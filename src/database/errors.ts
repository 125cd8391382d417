/**
 * What a failed query says about the database:
 * - `not-executed`: the statement certainly did nothing (never sent, refused, or rolled back);
 * - `connection-lost`: sent, and the answer never came, so a write may have happened;
 * - undefined: no fault of the database's availability.
 */
export type DatabaseFailure = 'not-executed' | 'connection-lost'

/** No connection was had, whatever its cause is: what was asked was certainly not sent. */
export class ConnectionUnavailableError extends Error {
  readonly code = 'NOT_CONNECTED'
  override readonly cause: Error

  constructor(cause: Error) {
    super('no connection to the database')
    this.cause = cause
  }
}

const NOT_EXECUTED_CODES = new Set([
  'NOT_CONNECTED',
  // Reaching the server: Prisma's codes, its adapter's kinds (all that a raw query's error has), then Node's.
  ...['P1000', 'P1001', 'P1003', 'P1011', 'P2034', 'P2037'],
  ...[
    'DatabaseNotReachable',
    'TlsConnectionError',
    'TooManyConnections',
    'AuthenticationFailed',
    'DatabaseDoesNotExist',
  ],
  ...['ECONNREFUSED', 'ENOTFOUND', 'EHOSTUNREACH', 'ENETUNREACH', 'EPIPE', 'EAI_AGAIN'],
  // SQLSTATE: lock not had, read-only, transaction too long, serialization failure and deadlock (both rolled back),
  // wrong password, no such database.
  ...['55P03', '25006', '25P04', '40001', '40P01', '28P01', '28000', '3D000'],
])

/** Classes of SQLSTATE: memory, disk or connections used up; a timeout, or a server that ends or starts; its machine. */
const NOT_EXECUTED_CLASSES = /^(53|57|58)[0-9A-Z]{3}$/

const CONNECTION_LOST_CODES = new Set([
  ...['P1008', 'P1017', 'ConnectionClosed', 'SocketTimeout', 'ECONNRESET', 'ETIMEDOUT'],
  ...['08000', '08003', '08006', '08007', '40003'],
])

/** pg throws plain errors for these; their words are all there is to go by (pg 8, pg-pool 3). */
const MESSAGE_PATTERNS: [RegExp, DatabaseFailure][] = [
  [/^timeout exceeded when trying to connect$/, 'not-executed'],
  [/^timeout expired$/, 'not-executed'],
  [/^Connection terminated/, 'connection-lost'],
  [/^Query read timeout$/, 'connection-lost'],
  [/^Client has encountered a connection error and is not queryable$/, 'not-executed'],
]

/** Classifies an error of Prisma, its pg adapter or pg by the codes it carries, the innermost first. */
export function databaseFailure(error: unknown): DatabaseFailure | undefined {
  for (const { code, message } of flattenCauses(error)) {
    if (code && (NOT_EXECUTED_CODES.has(code) || NOT_EXECUTED_CLASSES.test(code))) return 'not-executed'
    if (code && CONNECTION_LOST_CODES.has(code)) return 'connection-lost'
    const phrase = MESSAGE_PATTERNS.find(([words]) => words.test(message))
    if (phrase) return phrase[1]
  }
  return undefined
}

/** SQLSTATE or Prisma's code "the table is missing, or a column is": the schema is behind the code. */
export function isSchemaOutdated(error: unknown): boolean {
  return flattenCauses(error).some(({ code }) => ['P2021', 'P2022', '42P01', '42703'].includes(code ?? ''))
}

/** The error with all that it wraps (`meta.driverAdapterError`, `cause`, AggregateError), innermost first. */
function flattenCauses(error: unknown, depth = 0): { code: string | undefined; message: string }[] {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const e = error as Record<string, unknown> // unknown shapes by nature: every member is checked before use
  const meta = typeof e.meta === 'object' && e.meta !== null ? (e.meta as Record<string, unknown>) : {}
  const wrapped = [meta.driverAdapterError, e.cause, ...(Array.isArray(e.errors) ? e.errors : [])]
  const inner = error instanceof ConnectionUnavailableError ? [] : wrapped // why it was not had does not matter
  const codes = [e.originalCode, e.code, e.kind].filter((code) => typeof code === 'string')
  const message = typeof e.message === 'string' ? e.message : ''
  return [
    ...inner.flatMap((cause) => flattenCauses(cause, depth + 1)),
    ...codes.map((code) => ({ code, message })),
    ...(codes.length ? [] : [{ code: undefined, message }]),
  ]
}
