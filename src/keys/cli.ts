import { parseArgs } from 'node:util'
import { createDatabase } from '../database/client.ts'
import { locateDatabase } from '../database/locate.ts'
import { migrate } from '../database/migrate.ts'
import { run, UsageError } from '../entry.ts'
import { createKeys, type Keys } from './service.ts'

const usage = `Usage: npm run --silent keys -- COMMAND
  create --name NAME   makes a key and prints it, this once, alone on stdout; NAME has up to 100 characters
  list                 shows every key by its prefix
  usage                shows who still calls the deprecated GET /v1/pets/{petId}, most recent first
  revoke PREFIX        refuses the key from now on, on running instances within 5 seconds`

await run(async (config) => {
  const command = parse(process.argv.slice(2))
  const server = await locateDatabase(config)
  const database = createDatabase(server.url, 1, () => {})
  try {
    if (server.embedded && config.migrateOnStart) await migrate(server.url)
    await command(createKeys(database.prisma))
  } finally {
    await database.close()
    await server.leave()
  }
  process.exit(0) // migrating leaves a timer behind
})

/** @throws UsageError when the arguments ask for no command */
function parse(args: string[]): (keys: Keys) => Promise<void> {
  const { values, positionals } = parseOptions(args)
  const [name, prefix, ...rest] = positionals
  const keyName = values.name ?? ''
  if (name === 'create' && !prefix && /^[^\p{C}]{1,100}$/u.test(keyName)) return (keys) => create(keys, keyName)
  if (name === 'list' && !prefix) return list
  if (name === 'usage' && !prefix) return showUsage
  if (name === 'revoke' && prefix && !rest.length) return (keys) => revoke(keys, prefix)
  throw new UsageError(usage)
}

function parseOptions(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: { name: { type: 'string' } } })
  } catch {
    throw new UsageError(usage)
  }
}

async function create(keys: Keys, name: string): Promise<void> {
  console.log(await keys.issue(name))
}

async function list(keys: Keys): Promise<void> {
  const rows = (await keys.list()).map((k) => [k.prefix, k.name, minute(k.createdAt), minute(k.revokedAt)])
  console.log(table([['PREFIX', 'NAME', 'CREATED (UTC)', 'REVOKED (UTC)'], ...rows]))
}

async function showUsage(keys: Keys): Promise<void> {
  const callers = (await keys.list()).filter((key) => key.deprecatedCalls > 0n)
  callers.sort((a, b) => Number(b.deprecatedLastCallAt) - Number(a.deprecatedLastCallAt))
  const rows = callers.map((k) => [k.prefix, k.name, String(k.deprecatedCalls), minute(k.deprecatedLastCallAt)])
  console.log(table([['PREFIX', 'NAME', 'CALLS OF getPet', 'LAST (UTC)'], ...rows]))
}

async function revoke(keys: Keys, prefix: string): Promise<void> {
  if (!(await keys.revoke(prefix))) throw new UsageError(`No key in use has the prefix ${prefix}.`)
  console.error(`Revoked ${prefix}.`)
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
