/**
 * What a failed query says about the database:
 * - `not-executed`: the statement certainly did nothing (it was never sent, was rejected, or was rolled back);
 * - `connection-lost`: it was sent and no response arrived, so a write may have happened;
 * - undefined: the database is available, and the error has another cause.
 */
type DatabaseFailure = 'not-executed' | 'connection-lost'

/** The message of an error. An AggregateError, such as for a host with several addresses, has messages in its `errors`. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.message) return error.message
  const messages: string[] = error instanceof AggregateError ? error.errors.map((inner) => reasonOf(inner)) : []
  return messages.join(', ') || ('code' in error ? String(error.code) : error.name)
}

/**
 * Codes of `Pool`, Prisma and Node, and SQLSTATE: lock_not_available, read_only_sql_transaction,
 * idle_in_transaction_session_timeout, transaction_timeout, serialization_failure, deadlock_detected, invalid_password,
 * invalid_authorization_specification, invalid_catalog_name, sequence_generator_limit_exceeded.
 */
const NOT_EXECUTED_CODES = `NOT_CONNECTED P2034
  ECONNREFUSED ENOTFOUND EPIPE EAI_AGAIN
  55P03 25006 25P03 25P04 40001 40P01 28P01 28000 3D000 2200H`.split(/\s+/)

/** Prisma and Node, then SQLSTATE: the connection_exceptions of an open connection, and statement_completion_unknown. */
const CONNECTION_LOST_CODES = `P1008 P1017 ConnectionClosed SocketTimeout
  ECONNRESET ECONNABORTED ETIMEDOUT EHOSTDOWN EHOSTUNREACH ENETDOWN ENETUNREACH
  08000 08003 08006 08007 40003`.split(/\s+/)

const CODE_PATTERNS: [RegExp, DatabaseFailure][] = [
  // Classes of SQLSTATE: insufficient resources, operator intervention (timeouts, shutdown), system error.
  [/^(53|57|58)[0-9A-Z]{3}$/, 'not-executed'],
  // Node and OpenSSL: a certificate was not accepted, so there was no connection.
  [/CERT|CRL|SIGNATURE|^INVALID_(CA|PURPOSE)$/, 'not-executed'],
  // Other failures of TLS: the connection may have been open.
  [/^(EPROTO$|ERR_(OSSL|SSL|TLS)_)/, 'connection-lost'],
  // protocol_violation, the code of all errors of PgBouncer.
  [/^08P01$/, 'connection-lost'],
]

/** Errors that have no code of their own, or one that says less. The first ones are of pg 8. */
const MESSAGE_PATTERNS: [RegExp, DatabaseFailure][] = [
  [/^timeout expired$/, 'not-executed'],
  [/^The server does not support SSL connections$/, 'not-executed'],
  [/^Connection terminated/, 'connection-lost'],
  [/^Query read timeout$/, 'connection-lost'],
  [/^Client has encountered a connection error and is not queryable$/, 'not-executed'],
  // PgBouncer sent no statement.
  [/^(query_wait_timeout|server login has been failing|pgbouncer cannot connect|no more connections)/, 'not-executed'],
]

/** Classifies an error of Prisma, its pg adapter or pg by its codes and those of its causes, the innermost first. */
export function databaseFailure(error: unknown): DatabaseFailure | undefined {
  for (const { code, message, isPanic } of flattenCauses(error)) {
    if (isPanic) return 'connection-lost'
    if (code && NOT_EXECUTED_CODES.includes(code)) return 'not-executed'
    if (code && CONNECTION_LOST_CODES.includes(code)) return 'connection-lost'
    const match =
      MESSAGE_PATTERNS.find(([pattern]) => pattern.test(message)) ??
      CODE_PATTERNS.find(([pattern]) => pattern.test(code ?? ''))
    if (match) return match[1]
  }
  return undefined
}

/** Whether an error, or one of its causes, has one of these codes. */
export function hasCode(error: unknown, ...codes: string[]): boolean {
  return flattenCauses(error).some(({ code = '' }) => codes.includes(code))
}

/** Whether a table or a column is missing (Prisma's codes, then SQLSTATE), because migrations are pending. */
export const isSchemaOutdated = (error: unknown) => hasCode(error, 'P2021', 'P2022', '42P01', '42703')

/**
 * Whether a sequence gave an id that a row already has, for example because the sequence was not moved after an import.
 * Only the end of the index's name is compared: each partition has an index of its own, and PostgreSQL translates the rest
 * of the message. Rows with other primary keys are inserted with ON CONFLICT, so the table needs no comparison.
 */
export function isIdTaken(error: unknown): boolean {
  return flattenCauses(error).some(({ code, message }) => code === '23505' && /\w_pkey\b/.test(message))
}

/** @returns PostgreSQL's message if the role of the connection lacks a right (SQLSTATE insufficient_privilege) */
export function permissionDenied(error: unknown): string | undefined {
  return flattenCauses(error).find(({ code }) => code === '42501')?.message
}

/** The codes and messages of an error and of its causes (also Prisma's and AggregateError's), innermost first. */
function flattenCauses(error: unknown, depth = 0): { code: string | undefined; message: string; isPanic: boolean }[] {
  if (typeof error !== 'object' || error === null || depth > 5) return []
  const e = error as Record<string, unknown> // every member is checked before use
  const meta: Record<string, unknown> = typeof e.meta === 'object' ? { ...e.meta } : {}
  const wrapped = [meta.driverAdapterError, e.cause, ...(Array.isArray(e.errors) ? e.errors : [])]
  const inner = e.code === 'NOT_CONNECTED' ? [] : wrapped // not sent, whatever the code of the cause says
  const codes = [e.originalCode, e.code, e.kind].filter((code) => typeof code === 'string')
  const message = typeof e.message === 'string' ? e.message : ''
  // After a PANIC the server restarts, and may find the commit in the WAL. The severity is translated, the file's name is not.
  const isPanic = e.severity === 'PANIC' || e.file === 'xlog.c'
  const own = (codes.length ? codes : [undefined]).map((code) => ({ code, message, isPanic }))
  return [...inner.flatMap((cause) => flattenCauses(cause, depth + 1)), ...own]
}
