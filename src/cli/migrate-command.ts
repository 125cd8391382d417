import { type Config, loadConfig } from '../config/config.ts'
import { listMigrations, migrate, pendingMigrations } from '../database/migrate.ts'
import { type DatabaseServer, resolveDatabaseServer } from '../database/database-server.ts'
import { createPool } from '../database/pool.ts'
import { limitsOf } from '../config/limits.ts'
import { OperatorError } from '../lib/operator-error.ts'
import { PROJECT } from '../project.ts'
import { parseArguments, unknownCommandError } from './arguments.ts'

export const USAGE = `Usage: node dist/cli/migrate.js COMMAND, or in the repository: npm run migrate -- COMMAND
  deploy        applies all pending migrations; concurrent runs wait for each other
  status        lists the migrations; exit code 1 if any is pending
  create NAME   writes a migration from the last one to prisma/schema.prisma; NAME has a-z, 0-9 and _`

type Command = (server: DatabaseServer, config: Config) => Promise<void>

/** Runs `npm run migrate` with its arguments. @throws OperatorError for wrong ones, which the usage explains */
export async function runMigrate(env: NodeJS.ProcessEnv, args: string[]): Promise<void> {
  const command = parse(args)
  const config = loadConfig(env)
  const server = await resolveDatabaseServer(config)
  await command(server, config).finally(() => server.release())
}

function parse([command, ...args]: string[]): Command {
  if (command !== 'deploy' && command !== 'status' && command !== 'create') throw unknownCommandError(command, USAGE)
  const [name = ''] = parseArguments(args, {}, USAGE, command === 'create' ? ['NAME'] : []).positionals
  if (command !== 'create') return command === 'deploy' ? deploy : status
  if (!/^[a-z0-9_]+$/.test(name)) throw new OperatorError('NAME has only the characters a-z, 0-9 and _.')
  return (server) => create(server, name)
}

async function deploy({ url }: DatabaseServer): Promise<void> {
  const onWait = () => console.error('Waiting for the migration of another process.')
  const applied = await migrate(url, { onWait })
  console.log(applied.map((name) => `Applied ${name}.`).join('\n') || 'No pending migrations.')
}

async function status({ url }: DatabaseServer, config: Config): Promise<void> {
  const pool = createPool({ url, size: 1, timeouts: limitsOf(config) })
  const pending = await pendingMigrations(pool).finally(() => pool.end())
  for (const name of listMigrations()) console.log(`${pending.includes(name) ? 'pending' : 'applied'}  ${name}`)
  if (pending.length) process.exitCode = 1
}

async function create({ url }: DatabaseServer, name: string): Promise<void> {
  const { createMigration } = await import(`${new URL('prisma/create-migration.mjs', PROJECT)}`).catch(() => {
    throw new OperatorError('`create` needs the development dependencies, which a deployment does not have.')
  })
  const folder: string | undefined = await createMigration(url, name)
  console.log(folder ? `Wrote prisma/migrations/${folder}.` : 'No schema changes.')
}
