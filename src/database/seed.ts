import type { PrismaClient } from './generated/client.ts'

const SAMPLES = [
  ['Biscuit', 1, 'available'],
  ['Captain', 1, 'sold'],
  ['Pickles', 1, 'pending'],
  ['Waffles', 1, 'available'],
  ['Luna', 2, 'available'],
  ['Mochi', 2, 'available'],
  ['Professor Whiskers', 2, 'sold'],
  ['Smokey', 2, null],
  ['Hopper', 3, 'available'],
  ['Clover', 3, 'pending'],
  ['Echo', 4, 'available'],
  ['Jack Sparrow', 4, 'sold'],
  ['Kiwi', 4, 'available'],
  ['Bubbles', 5, 'available'],
  ['Goldie', 5, null],
  ['Neptune', 5, 'available'],
  ['Flash', 6, 'pending'],
  ['Sheldon', 6, 'available'],
  ['Iggy', 7, 'available'],
  ['Nagini', 7, 'sold'],
  ['Señor Patas', 1, 'available'],
  ['小春', 2, 'available'],
  ['Zoë', 3, 'available'],
  ['Ziggy 🦜', 4, 'pending'],
] as const

/** Inserts sample animals into an empty table. */
export async function seed(prisma: PrismaClient): Promise<void> {
  if (await prisma.animal.findFirst({ select: { id: true } })) return
  await prisma.animal.createMany({
    data: SAMPLES.map(([name, categoryId, status]) => ({ name, categoryId, status })),
  })
}
