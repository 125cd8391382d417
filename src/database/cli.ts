import { run, UsageError } from '../entry.ts'
import { createDatabase, type DatabaseTimeouts } from './client.ts'
import { locateDatabase } from './locate.ts'
import { createMigration, migrate, migrationNames, pendingMigrations } from './migrate.ts'

const usage = `Usage: npm run migrate -- COMMAND
  deploy        applies every pending migration; several at once wait for each other
  status        lists the migrations; exit code 1 when some are pending
  create NAME   writes the migration that leads from the last one to prisma/schema.prisma`

async function command(
  [name, argument, ...rest]: string[],
  url: () => Promise<string>,
  timeouts: DatabaseTimeouts,
): Promise<number> {
  if (name === 'create' && argument && /^[a-z0-9_]+$/.test(argument) && !rest.length) {
    const folder = await createMigration(await url(), argument)
    console.log(folder ? `Wrote prisma/migrations/${folder}.` : 'The migrations lead to this schema already.')
    return 0
  }
  if (name === 'deploy' && !argument) {
    const applied = await migrate(await url())
    console.log(applied.length ? applied.map((migration) => `Applied ${migration}.`).join('\n') : 'Nothing to apply.')
    return 0
  }
  if (name === 'status' && !argument) {
    const database = createDatabase({ url: await url(), size: 1, timeouts })
    const pending = await pendingMigrations(database.pool).finally(() => database.close())
    for (const migration of migrationNames) {
      console.log(`${pending.includes(migration) ? 'pending' : 'applied'}  ${migration}`)
    }
    return pending.length ? 1 : 0
  }
  throw new UsageError(usage)
}

await run(async (config) => {
  let leave = async () => {}
  const url = async () => {
    const server = await locateDatabase(config)
    leave = server.leave
    return server.url
  }
  const exitCode = await command(process.argv.slice(2), url, config.timeouts).finally(() => leave())
  process.exit(exitCode) // the engine's timer would keep the process for ten seconds
}, usage)
