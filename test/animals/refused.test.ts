import { expect } from 'vitest'
import { databaseOf, testWithService as test, withClient } from '../support/harness.ts'

test('an animal that PostgreSQL refuses fails alone; others of the same statement are created once', async ({
  service,
}) => {
  await withClient(
    (client) => client.query('ALTER TABLE animal ADD CONSTRAINT lucky CHECK (category_id <> 13)'),
    databaseOf(service),
  )
  const categories = [1, 13, 3, 4, 5, 13]
  for (const key of [undefined, 'key']) {
    const responses = await Promise.all(
      categories.map((categoryId, n) =>
        service.post({ name: `animal ${n}`, categoryId }, key ? { 'Idempotency-Key': `${key}-${n}` } : {}),
      ),
    )
    expect(responses.map(({ status }) => status)).toEqual([201, 500, 201, 201, 201, 500])
    const animals = (await Promise.all(responses.filter(({ ok }) => ok).map((response) => response.json()))) as {
      name: string
      id: number
    }[]
    expect(animals.map(({ name }) => name)).toEqual(['animal 0', 'animal 2', 'animal 3', 'animal 4'])
    for (const { id, name } of animals) {
      expect(await service.database.prisma.animal.findUnique({ where: { id } })).toMatchObject({ name })
    }
  }
  expect(await service.database.prisma.animal.count()).toBe(8)
})
