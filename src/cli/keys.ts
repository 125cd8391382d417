import { parseArgs } from 'node:util'
import { createDatabase } from '../database/client.ts'
import { openDatabaseServer } from '../database/open.ts'
import { migrate } from '../database/migrate.ts'
import { runProgram, UsageError } from './program.ts'
import {
  createApiKeys,
  DEFAULT_SCOPES,
  type KeyInfo,
  type ApiKeys,
  KeyAlreadyRotatedError,
  Scope,
} from '../auth/api-keys.ts'

const usage = `Usage: npm run --silent keys -- COMMAND
  create --name NAME [--scopes ${Scope.options.join(',')}] [--expires 90d]
                  makes a key and prints it, this once, alone on stdout; NAME has up to 100 characters.
                  Default of --scopes: ${DEFAULT_SCOPES.join(',')}; without --expires (30m, 24h, 90d, or a date such as
                  2027-01-31) the key does not expire
  list [--json]   shows every key by its prefix
  rotate PREFIX [--overlap 24h]
                  makes a key that takes the place of another and prints it; the old one goes on for the overlap,
                  and is not rotated again
  revoke PREFIX   refuses the key from now on, on running instances within 5 seconds
  usage           shows who still calls the deprecated GET /v1/pets/{petId}, most recent first`

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 }

await runProgram(async (config) => {
  const command = parse(process.argv.slice(2))
  const server = await openDatabaseServer(config)
  const database = createDatabase({ url: server.url, size: 1, timeouts: config.timeouts })
  try {
    if (server.embedded && config.migrateOnStart) await migrate(server.url)
    await command(createApiKeys(database))
  } finally {
    await database.close()
    await server.release()
  }
}, usage)

/** @throws UsageError when the arguments ask for no command. It repeats none of them: one may be a key */
function parse(args: string[]): (keys: ApiKeys) => Promise<void> {
  const { values, positionals } = parseOptions(args)
  const [command, prefix, ...rest] = positionals
  if (rest.length) throw new UsageError(usage)
  const given = [command, prefix && 'PREFIX', ...Object.keys(values).sort()].filter(Boolean).join(' ')
  if (/^create( expires)? name( scopes)?$/.test(given)) return create(values)
  if (/^list( json)?$/.test(given)) return values.json ? listJson : list
  if (/^rotate PREFIX( overlap)?$/.test(given)) return rotate(toPrefix(prefix), toMs(values.overlap ?? '24h'))
  if (given === 'revoke PREFIX') return revoke(toPrefix(prefix))
  if (given === 'usage') return showUsage
  throw new UsageError(usage)
}

function parseOptions(args: string[]) {
  const text = { type: 'string' } as const
  const options = { name: text, scopes: text, expires: text, overlap: text, json: { type: 'boolean' } } as const
  try {
    return parseArgs({ args, allowPositionals: true, options })
  } catch {
    throw new UsageError(usage)
  }
}

function create({ name = '', scopes, expires }: { name?: string; scopes?: string; expires?: string }) {
  if (!/^[^\p{C}]{1,100}$/u.test(name)) throw new UsageError(usage)
  const wanted = Scope.array().safeParse(scopes?.split(',') ?? DEFAULT_SCOPES)
  if (!wanted.success) throw new UsageError(`--scopes takes one or more of ${Scope.options.join(',')}.`)
  const expiresAt = expires === undefined ? undefined : toDate(expires)
  const options = { scopes: [...new Set(wanted.data)], expiresAt }
  return async (keys: ApiKeys) => console.log(await keys.issue(name, options))
}

function rotate(prefix: string, overlapMs: number) {
  return async (keys: ApiKeys) => {
    const key = await keys.rotate(prefix, overlapMs).catch((error: unknown) => {
      throw error instanceof KeyAlreadyRotatedError ? new UsageError(error.message) : error
    })
    if (!key) throw new UsageError(`No key in use has the prefix ${prefix}.`)
    console.log(key)
    console.error(`${prefix} goes on until ${minute(new Date(Date.now() + overlapMs))} UTC, or its own earlier end.`)
  }
}

function revoke(prefix: string) {
  return async (keys: ApiKeys) => {
    if (!(await keys.revoke(prefix))) throw new UsageError(`No key in use has the prefix ${prefix}.`)
    console.error(`Revoked ${prefix}.`)
  }
}

async function list(keys: ApiKeys): Promise<void> {
  const columns: [string, (key: KeyInfo) => string][] = [
    ['PREFIX', (key) => key.prefix],
    ['NAME', (key) => key.name],
    ['SCOPES', (key) => key.scopes.join(',')],
    ['CREATED (UTC)', (key) => minute(key.createdAt)],
    ['EXPIRES', (key) => minute(key.expiresAt)],
    ['REVOKED', (key) => minute(key.revokedAt)],
    ['LAST USED', (key) => minute(key.lastUsedAt)],
    ['CALLS OF getPet', (key) => String(key.deprecatedCalls)],
  ]
  const rows = (await keys.list()).map((key) => columns.map(([, cell]) => cell(key)))
  console.log(table([columns.map(([title]) => title), ...rows]))
}

async function listJson(keys: ApiKeys): Promise<void> {
  const known = (await keys.list()).map((key) => ({ ...key, deprecatedCalls: Number(key.deprecatedCalls) }))
  console.log(JSON.stringify(known, null, 2))
}

async function showUsage(keys: ApiKeys): Promise<void> {
  const callers = (await keys.list()).filter((key) => key.deprecatedCalls > 0n)
  callers.sort((a, b) => Number(b.deprecatedLastCallAt) - Number(a.deprecatedLastCallAt))
  const rows = callers.map((k) => [k.prefix, k.name, String(k.deprecatedCalls), minute(k.deprecatedLastCallAt)])
  console.log(table([['PREFIX', 'NAME', 'CALLS OF getPet', 'LAST (UTC)'], ...rows]))
}

/** A key is a secret and does not belong into a command line, where others can read it. */
function toPrefix(text = ''): string {
  if (/^pets_[0-9a-z]{8}$/.test(text)) return text
  throw new UsageError('PREFIX is the 13 characters that `list` shows, not a whole key.')
}

function toMs(text: string): number {
  const [, count, unit] = /^(\d{1,5})([mhd])$/.exec(text) ?? []
  if (!count) throw new UsageError('A time is a number with m, h or d behind it, as 24h.')
  return Number(count) * unitMs[unit as keyof typeof unitMs] // as the pattern has it
}

function toDate(text: string): Date {
  const date = /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text) ? new Date(text) : new Date(Date.now() + toMs(text))
  const real =
    !Number.isNaN(date.getTime()) && (!text.includes('-') || date.toISOString().startsWith(text.slice(0, 10)))
  if (!real) throw new UsageError('--expires takes 30m, 24h, 90d, or a date as 2027-01-31.')
  if (date.getTime() <= Date.now()) throw new UsageError('--expires is in the past.')
  return date
}

function minute(date: Date | null): string {
  return date?.toISOString().slice(0, 16).replace('T', ' ') ?? '-'
}

/** Columns as wide as their widest cell, two spaces apart. */
function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
