import { fileURLToPath } from 'node:url'
import { ESLint } from 'eslint'
import { expect, test } from 'vitest'

const cwd = fileURLToPath(new URL('../..', import.meta.url))
const eslint = new ESLint({ cwd, overrideConfigFile: 'test/clients/eslint.config.js' })

test("the schema follows the rules of graphql-eslint and of Relay's specification", async () => {
  const [schema] = await eslint.lintFiles('schema.graphql')
  expect(schema?.messages).toEqual([])
})

test('the rules report an invalid schema', async () => {
  const text = `type Query {
    pets(first: Int, after: String): PetConnection
  }
  type PetConnection { edges: [String] }
  enum Size { small }`
  const [schema] = await eslint.lintText(text, { filePath: 'other.graphql' })
  const rules = new Set(schema?.messages.map(({ ruleId }) => ruleId?.replace('@graphql-eslint/', '')))
  expect([...rules]).toEqual(
    expect.arrayContaining([
      'naming-convention',
      'relay-arguments',
      'relay-connection-types',
      'relay-edge-types',
      'require-description',
    ]),
  )
})
