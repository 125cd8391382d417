import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Prisma, PrismaClient } from './generated/client.ts'
import { PRISMA_DIR } from './migrate.ts'

/** Inserts the sample animals into an empty table. */
export async function seed(prisma: PrismaClient): Promise<void> {
  if (await prisma.animal.findFirst({ select: { id: true } })) return
  const json = readFileSync(join(PRISMA_DIR, 'sample-animals.json'), 'utf8')
  await prisma.animal.createMany({ data: JSON.parse(json) as Prisma.AnimalCreateManyInput[] }) // this repository's file
}
