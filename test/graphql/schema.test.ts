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

/** A schema with a query, a mutation with these extensions, and perhaps subscriptions. */
function createSmallSchema(ofMutation: Record<string, unknown>, addEvents?: (builder: Builder) => void) {
  const addToSchema = (builder: Builder) => {
    builder.queryFields((t) => ({ known: t.int({ extensions, resolve: () => 1 }) }))
    builder.mutationFields((t) => ({ changed: t.int({ extensions: ofMutation, resolve: () => 1 }) }))
    if (addEvents) addEvents(builder)
    else builder.subscriptionFields((t) => ({ added: t.int({ extensions, subscribe, resolve: () => 1 }) }))
  }
  return createSchema([{ addToSchema }])
}

async function* subscribe() {}

test('a field that has a cost and no description is described by its cost', () => {
  const fields = createSmallSchema(extensions).getQueryType()?.getFields()
  expect(fields?.['known']?.description).toBe('Costs 1.')
})

test.for([
  ['a scope', { cost: 1 }],
  ['a cost', { scope: 'pets:read' }],
] as const)('a root field without %s fails the start', ([, incomplete]) => {
  expect(() => createSmallSchema(incomplete)).toThrow('Mutation.changed needs a scope and a cost.')
})

test.for(['itself', 'a type of its union'])(
  'a field of events that takes an argument, of %s, fails the start',
  (kind) => {
    const addEvents = (builder: Builder) => {
      const Item = builder.objectRef<object>('Item').implement({
        fields: (t) => ({ name: t.string({ args: { upper: t.arg.boolean() }, resolve: () => 'Rex' }) }),
      })
      const Any = builder.unionType('Any', { types: [Item], resolveType: () => Item })
      const type = kind === 'itself' ? Item : Any
      builder.subscriptionFields((t) => ({
        added: t.field({ type: [type], extensions, subscribe, resolve: () => [] }),
      }))
    }
    expect(() => createSmallSchema(extensions, addEvents)).toThrow('Item.name: fields of events have no arguments.')
  },
)
