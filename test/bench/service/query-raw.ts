/** This service, whose statements of animals Prisma Client's `$queryRaw` executes, prepared and in the same batches (decision 6). */
import type pg from 'pg'
import { loadConfig } from '../../../src/config/config.ts'
import { Pool } from '../../../src/database/pool.ts'
import { RESOURCES } from '../../../src/resources.ts'
import { createService } from '../../../src/service.ts'
import { createLogger } from '../../../src/telemetry/logger.ts'
import { databaseUrl, host, port } from '../peers/peer.ts'
import { createPrismaClient } from '../peers/prisma-store.ts'

const prisma = createPrismaClient()
const { withConnection } = Pool.prototype

// A statement still waits for a connection of the pool, so that a batch takes as many inputs.
Pool.prototype.withConnection = function withPrisma<T>(this: Pool, work: (client: pg.PoolClient) => Promise<T>) {
  return withConnection.call(this, (client) => {
    const query = async (statement: string | pg.QueryConfig) =>
      typeof statement === 'object' && statement.text.includes('"animal"')
        ? { rows: await execute(statement) }
        : client.query(statement as string) // or a prepared statement, which has the same result
    return work({ query } as unknown as pg.PoolClient) // all that `createStatements` calls
  }) as Promise<T> // what `work` returns
}

const execute = ({ text, values = [] }: pg.QueryConfig) => prisma.$queryRawUnsafe(text, ...(values as unknown[]))

const config = loadConfig(process.env)
const service = createService({ resources: RESOURCES, config, databaseUrl, log: createLogger(config.LOG_LEVEL) })
await service.start({ port, host })
