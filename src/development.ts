import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from './config/config.ts'
import type { Prisma, PrismaClient } from './database/generated/client.ts'
import { type LockOptions, migrate, withMigrationLock } from './database/migrate.ts'
import { OperatorError } from './lib/operator-error.ts'
import { PROJECT } from './project.ts'
import type { Service } from './service.ts'

/** Migrates and seeds the embedded database. @returns the development key */
export async function prepareDevelopmentDatabase(url: string, service: Service, config: Config, wait: LockOptions) {
  if (config.MIGRATE_ON_START) await migrate(url, wait)
  const prepare = async () => {
    await seed(service.database.prisma)
    return developmentKey(service.keys, config.DATA_DIR)
  }
  return withMigrationLock(url, prepare, wait)
}

async function seed(prisma: PrismaClient): Promise<void> {
  if (await prisma.animal.findFirst({ select: { id: true } })) return
  const json = await readFile(new URL('prisma/sample-animals.json', PROJECT), 'utf8')
  await prisma.animal.createMany({ data: JSON.parse(json) as Prisma.AnimalCreateManyInput[] }) // a file of this repository
}

/** Reads the key in `DATA_DIR/dev-key`, as the README's curl commands do. Stores a new key there if it is not valid. */
async function developmentKey(keys: Service['keys'], dataDir: string): Promise<string> {
  const file = join(dataDir, 'dev-key')
  const stored = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (await keys.isValid(stored)) return stored
  const key = await keys.issue('development', { scopes: keys.scopes })
  await writeFile(file, `${key}\n`, { mode: 0o600 }).catch((error: Error) => {
    throw new OperatorError(`DATA_DIR: the development key cannot be written: ${error.message}`)
  })
  return key
}
