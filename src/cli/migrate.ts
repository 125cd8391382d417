import { runProgram, UsageError } from './program.ts'
import { createDatabase } from '../database/client.ts'
import { openDatabaseServer } from '../database/open.ts'
import { listMigrations, migrate, pendingMigrations } from '../database/migrate.ts'

const usage = `Usage: npm run migrate -- COMMAND
  deploy        applies every pending migration; concurrent runs wait for each other
  status        lists the migrations; exit code 1 when some are pending
  create NAME   writes the migration from the last one to prisma/schema.prisma`

type Config = Parameters<Parameters<typeof runProgram>[0]>[0]

await runProgram(async (config) => {
  const [command, argument, ...rest] = process.argv.slice(2)
  if (command === 'create' && argument && /^[a-z0-9_]+$/.test(argument) && !rest.length) return create(config, argument)
  if (command === 'deploy' && !argument) return deploy(config)
  if (command === 'status' && !argument) return status(config)
  throw new UsageError(usage)
}, usage)

async function deploy(config: Config): Promise<void> {
  const server = await openDatabaseServer(config)
  const applied = await migrate(server.url).finally(() => server.release())
  console.log(applied.map((name) => `Applied ${name}.`).join('\n') || 'Nothing to apply.')
}

async function status(config: Config): Promise<void> {
  const server = await openDatabaseServer(config)
  const database = createDatabase({ url: server.url, size: 1, timeouts: config.timeouts })
  const pending = await pendingMigrations(database.pool).finally(async () => {
    await database.close()
    await server.release()
  })
  for (const name of listMigrations()) console.log(`${pending.includes(name) ? 'pending' : 'applied'}  ${name}`)
  if (pending.length) process.exitCode = 1
}

async function create(config: Config, name: string): Promise<void> {
  const { createMigration } = await import('../database/create-migration.ts').catch(() => {
    throw new UsageError('`create` needs the development dependencies, which npm ci --omit=dev leaves out.')
  })
  const server = await openDatabaseServer(config)
  const folder = await createMigration(server.url, name).finally(() => server.release())
  console.log(folder ? `Wrote prisma/migrations/${folder}.` : 'No schema changes.')
  process.exit(0) // the schema engine's timer would keep the process
}
