import { buildSchema, findBreakingChanges } from 'graphql'
import { expect, test } from 'vitest'
import type { Builder } from '../../src/graphql/schema/builder.ts'
import { createSchema, printedSchema } from '../../src/graphql/schema/index.ts'
import { pathOf, read } from '../support/files.ts'
import { schema } from '../support/schema.ts'

test('schema.graphql is the schema of the service (npm run schema updates it)', async () => {
  await expect(printedSchema(schema)).toMatchFileSnapshot(pathOf('schema.graphql'))
})

/**
 * released.graphql is the schema of the last release. A release copies schema.graphql into it below a line with its version,
 * and empties the list of declared changes.
 */
test('released.graphql is the schema of the last release in the changelog', () => {
  const [, version] = /^## ([\d.]+) - /m.exec(read('docs/changelog.md')) ?? []
  expect(read('test/graphql/released.graphql').split('\n')[0]).toBe(`# Version ${version}`)
})

test('the breaking changes since the last release are those in declared-breaking-changes.json', () => {
  const changes = findBreakingChanges(buildSchema(read('test/graphql/released.graphql')), schema)
  const declared = JSON.parse(read('test/graphql/declared-breaking-changes.json'))
  expect(changes.map(({ description }) => description)).toEqual(declared)
})

const extensions = { scope: 'pets:read', cost: 1 }

test.for([
  ['a scope', { cost: 1 }],
  ['a cost', { scope: 'pets:read' }],
] as const)('a root field without %s fails the start', ([, incomplete]) => {
  const addToSchema = (builder: Builder) =>
    builder.mutationFields((t) => ({ changed: t.int({ extensions: incomplete, resolve: () => 1 }) }))
  expect(() => createSchema([{ addToSchema }])).toThrow('Mutation.changed needs a scope and a cost.')
})

test('a field of events that takes an argument, even of a type of a union, fails the start', () => {
  const addToSchema = (builder: Builder) => {
    const Item = builder.objectRef<object>('Item').implement({
      fields: (t) => ({ name: t.string({ args: { upper: t.arg.boolean() }, resolve: () => 'Rex' }) }),
    })
    const Any = builder.unionType('Any', { types: [Item], resolveType: () => Item })
    const subscribe = async function* () {}
    builder.subscriptionFields((t) => ({
      added: t.field({ type: [Any], extensions, subscribe, resolve: () => [] }),
    }))
  }
  expect(() => createSchema([{ addToSchema }])).toThrow('Item.name: fields of events have no arguments.')
})
