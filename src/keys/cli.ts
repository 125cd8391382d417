import { parseArgs } from 'node:util'
import { createDatabase } from '../database/client.ts'
import { locateDatabase } from '../database/locate.ts'
import { run, UsageError } from '../entry.ts'
import { createKeys, type Keys } from './service.ts'

const usage = `Usage: npm run --silent keys -- COMMAND
  create --name NAME   makes a key and prints it, this once, alone on stdout
  list                 shows every key by its prefix
  usage                shows who still calls the deprecated GET /v1/pets/{petId}, most recent first
  revoke PREFIX        refuses the key from now on, on running instances within 5 seconds`

async function command(keys: Keys, args: string[]): Promise<void> {
  const { values, positionals } = parse(args)
  const [name, prefix] = positionals
  if (name === 'create' && positionals.length === 1 && values.name) {
    console.log(await keys.issue(values.name))
  } else if (name === 'list' && positionals.length === 1) {
    const rows = (await keys.list()).map((k) => [k.prefix, k.name, minute(k.createdAt), minute(k.revokedAt)])
    console.log(table([['PREFIX', 'NAME', 'CREATED (UTC)', 'REVOKED (UTC)'], ...rows]))
  } else if (name === 'usage' && positionals.length === 1) {
    const callers = (await keys.list()).filter((key) => key.deprecatedCalls > 0n)
    callers.sort((a, b) => Number(b.deprecatedLastCallAt) - Number(a.deprecatedLastCallAt))
    const rows = callers.map((k) => [k.prefix, k.name, String(k.deprecatedCalls), minute(k.deprecatedLastCallAt)])
    console.log(table([['PREFIX', 'NAME', 'CALLS OF getPet', 'LAST (UTC)'], ...rows]))
  } else if (name === 'revoke' && prefix && positionals.length === 2) {
    if (!(await keys.revoke(prefix))) throw new UsageError(`No key in use has the prefix ${prefix}.`)
    console.error(`Revoked ${prefix}.`)
  } else {
    throw new UsageError(usage)
  }
}

function parse(args: string[]) {
  try {
    return parseArgs({ args, allowPositionals: true, options: { name: { type: 'string' } } })
  } catch {
    throw new UsageError(usage)
  }
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

await run(async (config) => {
  const server = await locateDatabase(config)
  const database = createDatabase(server.url, 1, () => {})
  try {
    await command(createKeys(database.prisma), process.argv.slice(2))
  } finally {
    await database.close()
    await server.leave()
  }
})
