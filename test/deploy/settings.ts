import { expect } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { Environment } from '../../src/config/environment.ts'
import { TRACING_STOP_TIMEOUT_MS } from '../../src/telemetry/tracing.ts'
import { read } from '../support/files.ts'

/** What `npm start` starts. */
export const { start } = (JSON.parse(read('package.json')) as { scripts: { start: string } }).scripts

/** Time to close connections and to exit, on a busy machine. */
const SPARE_MS = 5_000

/** Where a deployment gets the database URL from, which these tests do not have. */
const DATABASE_VARIABLES = new Set(['DATABASE_URL', 'DATABASE_URL_FILE'])

/** Expects the environment of a deployment to be valid. @returns what the service makes of it in production */
export function configOf(environment: Record<string, string>) {
  const names = Object.keys(environment)
  expect(names.filter((name) => !(name in Environment.shape))).toEqual([])
  expect(names.filter((name) => DATABASE_VARIABLES.has(name))).toHaveLength(1)
  const rest = Object.entries(environment).filter(([name]) => !DATABASE_VARIABLES.has(name))
  return loadConfig({ ...Object.fromEntries(rest), NODE_ENV: 'production', DATABASE_URL: 'postgresql://database/pets' })
}

/** How long a deployment must wait from SIGTERM to SIGKILL, in seconds. */
export function secondsToStop({ DRAIN_DELAY_MS, DRAIN_TIMEOUT_MS }: ReturnType<typeof configOf>): number {
  return (DRAIN_DELAY_MS + DRAIN_TIMEOUT_MS + TRACING_STOP_TIMEOUT_MS + SPARE_MS) / 1_000
}
