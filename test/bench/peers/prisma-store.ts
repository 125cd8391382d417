import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from '../../../src/database/generated/client.ts'
import { databaseUrl, poolSize, tuned } from './peer.ts'
import type { Store } from './store.ts'

/** Prisma as anyone uses it; tuned, with prepared statements that PostgreSQL keeps. */
export function createPrismaClient(): PrismaClient {
  const pool = { connectionString: databaseUrl, max: poolSize }
  return new PrismaClient({ adapter: new PrismaPg(pool, tuned ? { statementNameGenerator } : undefined) })
}

/** @param toInt what the API shows */
export function createPrismaStore<Int>(toInt: (int64: bigint) => Int, prisma = createPrismaClient()): Store<Int> {
  const { animal: table } = prisma

  return {
    async list(limit, olderThan) {
      const rows = await table.findMany({
        ...(olderThan && { where: { id: { lt: BigInt(olderThan) } } }),
        orderBy: { id: 'desc' },
        take: limit + 1,
      })
      return { animals: rows.slice(0, limit).map(shown), more: rows.length > limit }
    },
    async get(id) {
      const row = await table.findUnique({ where: { id: BigInt(id) } })
      return row ? shown(row) : undefined
    },
    async create({ name, categoryId, status = null }) {
      return shown(await table.create({ data: { name, categoryId: BigInt(categoryId), status } }))
    },
  }

  function shown<Row extends { id: bigint; categoryId: bigint }>(row: Row) {
    return { ...row, id: toInt(row.id), categoryId: toInt(row.categoryId) }
  }
}

const names = new Map<string, string>()

/** A name for each text of a statement; the texts are few. */
function statementNameGenerator({ sql }: { sql: string }): string {
  const name = names.get(sql) ?? `s${names.size}`
  names.set(sql, name)
  return name
}
