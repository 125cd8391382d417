import { type ApiKeys, clientScopes, createApiKeys, keyPrefix, METRICS_SCOPE } from '../auth/api-keys.ts'
import { loadConfig } from '../config/config.ts'
import { createDatabase } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import { resolveDatabaseServer } from '../database/database-server.ts'
import { limitsOf } from '../config/limits.ts'
import { OperatorError } from '../lib/operator-error.ts'
import { KEY_PREFIX } from '../project.ts'
import { RESOURCES } from '../resources.ts'
import { parseArguments, unknownCommandError, usageError } from './arguments.ts'
import { print } from './program.ts'

const DEFAULT_SCOPES = clientScopes(RESOURCES.map(({ resource }) => resource))
const SCOPES = [...DEFAULT_SCOPES, METRICS_SCOPE]

export const USAGE = `Usage: node dist/cli/keys.js COMMAND, or in the repository: npm run --silent keys -- COMMAND
  create --name NAME [--scopes ${SCOPES.join(',')}] [--expires 90d]
                  creates a key and prints it on stdout, only this once; NAME has up to 100 characters.
                  Default scopes: ${DEFAULT_SCOPES.join(',')}. Without --expires the key does not expire
  list            lists all keys by prefix
  rotate PREFIX [--overlap 24h]
                  creates a key that replaces another and prints it; the old key remains valid for the overlap and
                  cannot be rotated again
  revoke PREFIX   revokes a key; running instances reject it within 5 seconds`

const TEXT = { type: 'string' } as const
const PREFIX = new RegExp(`^${KEY_PREFIX}[0-9a-z]{8}$`)

type Command = (keys: ApiKeys) => Promise<void>

export async function runKeys(env: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const command = parse(args)
  const config = loadConfig(env)
  const server = await resolveDatabaseServer(config)
  const database = createDatabase({ url: server.url, size: 1, timeouts: limitsOf(config) })
  try {
    if (server.embedded && config.MIGRATE_ON_START) await migrate(server.url)
    await command(createApiKeys(database, DEFAULT_SCOPES))
  } finally {
    await database.close().finally(() => server.release())
  }
}

function parse([command, ...args]: string[]): Command {
  if (command === 'create') return create(args)
  if (command === 'rotate') return rotate(args)
  if (command === 'revoke') return revoke(args)
  if (command !== 'list') throw unknownCommandError(command, USAGE)
  parseArguments(args, {}, USAGE)
  return list
}

function create(args: string[]): Command {
  const { name, scopes, expires } = parseArguments(args, { name: TEXT, scopes: TEXT, expires: TEXT }, USAGE).values
  if (name === undefined) throw usageError('--name is missing.', USAGE)
  if (!/^[^\p{C}]{1,100}$/u.test(name))
    throw new OperatorError('--name takes 1 to 100 characters, no control characters.')
  const granted = [...new Set(scopes?.split(',') ?? DEFAULT_SCOPES)]
  if (!granted.every((scope) => SCOPES.includes(scope)))
    throw new OperatorError(`--scopes takes one or more of ${SCOPES.join(',')}.`)
  const lifeMs = expires === undefined ? undefined : toMs('--expires', expires)
  if (lifeMs === 0) throw new OperatorError('--expires takes at least 1m.')
  const expiresAt = lifeMs === undefined ? null : new Date(Date.now() + lifeMs)
  return async (keys) => printKey(await keys.issue(name, { scopes: granted, expiresAt }))
}

function rotate(args: string[]): Command {
  const { values, positionals } = parseArguments(args, { overlap: TEXT }, USAGE, ['PREFIX'])
  const prefix = toPrefix(positionals[0])
  const overlapMs = toMs('--overlap', values.overlap ?? '24h')
  return async (keys) => {
    const key = await keys.rotate(prefix, overlapMs)
    if (!key) throw new OperatorError(`No active key has the prefix ${prefix}.`)
    await printKey(key)
    const end = formatMinute(new Date(Date.now() + overlapMs))
    console.error(`${prefix} remains valid until ${end} UTC, or until its own earlier expiry.`)
  }
}

async function printKey(key: string): Promise<void> {
  await print(key).catch((error: Error) => {
    throw new OperatorError(`${error.message}. Rotate the new key ${keyPrefix(key)} with --overlap 0m.`)
  })
}

function revoke(args: string[]): Command {
  const prefix = toPrefix(parseArguments(args, {}, USAGE, ['PREFIX']).positionals[0])
  return async (keys) => {
    if (!(await keys.revoke(prefix))) throw new OperatorError(`No active key has the prefix ${prefix}.`)
    console.error(`Revoked ${prefix}.`)
  }
}

async function list(keys: ApiKeys): Promise<void> {
  const titles = ['PREFIX', 'NAME', 'SCOPES', 'CREATED (UTC)', 'EXPIRES', 'REVOKED', 'LAST USED']
  const rows = (await keys.list()).map((key) => {
    const times = [key.createdAt, key.expiresAt, key.revokedAt, key.lastUsedAt].map(formatMinute)
    return [key.prefix, key.name, key.scopes.join(','), ...times]
  })
  const table = [titles, ...rows]
  const widths = titles.map((_, column) => table.reduce((max, row) => Math.max(max, row[column]?.length ?? 0), 0))
  const lines = table.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  await print(lines.map((line) => line.trimEnd()).join('\n'))
}

/** Accepts no complete key: a key is a secret, and other users can read the arguments of a process. */
function toPrefix(text = ''): string {
  if (PREFIX.test(text)) return text
  throw new OperatorError('PREFIX must be the 13 characters that `list` shows, not a complete key.')
}

function toMs(option: string, text: string): number {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  if (!count) throw new OperatorError(`${option} takes a duration: 30m, 24h, 90d.`)
  return Number(count) * { m: 60_000, h: 3_600_000, d: 86_400_000 }[unit as 'm' | 'h' | 'd'] // no other unit matches
}

function formatMinute(date: Date | null): string {
  return date?.toISOString().slice(0, 16).replace('T', ' ') ?? '-'
}
