import { createHash } from 'node:crypto'

/** The environment of every peer, with the variable names of the service, and the key. */
export const {
  PORT = '',
  HOST = '',
  DATABASE_URL = '',
  DATABASE_POOL_SIZE = '',
  BENCH_KEY = '',
  TUNED,
  BATCHED,
  PIPELINED,
} = process.env

export const port = Number(PORT)
export const host = HOST
export const databaseUrl = DATABASE_URL
export const poolSize = Number(DATABASE_POOL_SIZE)

/** Whether the one line is in that makes this peer faster. */
export const tuned = TUNED === 'true'

/** Whether one statement serves all requests that wait. */
export const batched = BATCHED === 'true'

/** Whether a connection takes statements while it executes others. */
export const pipelined = PIPELINED === 'true'

const known = new Set([hash(BENCH_KEY)])

/** Whether a request may come in: its bearer key, hashed, is among those that are known. */
export function isAllowed(authorization: string | undefined): boolean {
  const key = /^Bearer (\S+)$/.exec(authorization ?? '')?.[1]
  return key !== undefined && known.has(hash(key))
}

function hash(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}
