import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { printedSchema } from '../../src/graphql/schema.ts'

test('schema.graphql is the schema that is served (npm run schema writes it anew)', async () => {
  await expect(printedSchema()).toMatchFileSnapshot(fileURLToPath(new URL('../../schema.graphql', import.meta.url)))
})
