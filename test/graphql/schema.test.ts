import { buildSchema, findBreakingChanges, getNamedType, isAbstractType, isObjectType } from 'graphql'
import { expect, test } from 'vitest'
import type { Builder } from '../../src/graphql/schema/builder.ts'
import { createSchema, printedSchema } from '../../src/graphql/schema/index.ts'
import { RESOURCES } from '../../src/resources.ts'
import { servedOrders } from '../second-resource/index.ts'
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

test.for([
  ['a scope', { cost: 1 }],
  ['a cost', { scope: 'pets:read' }],
] as const)('a root field without %s fails the start', ([, incomplete]) => {
  const addToSchema = (builder: Builder) =>
    builder.mutationFields((t) => ({ changed: t.int({ extensions: incomplete, resolve: () => 1 }) }))
  expect(() => createSchema([{ addToSchema }])).toThrow('Mutation.changed needs a scope and a cost.')
})

test('no field of an event has arguments, since streams with the same text share events', () => {
  const all = createSchema([...RESOURCES, servedOrders])
  const types = new Set(
    Object.values(all.getSubscriptionType()?.getFields() ?? {}).map(({ type }) => getNamedType(type)),
  )
  const withArguments: string[] = []
  for (const type of types) {
    if (isAbstractType(type)) all.getPossibleTypes(type).forEach((one) => types.add(one)) // the loop visits these, too
    for (const { name, args, type: ofField } of isObjectType(type) ? Object.values(type.getFields()) : []) {
      if (args.length > 0) withArguments.push(`${type}.${name}`)
      types.add(getNamedType(ofField))
    }
  }
  expect(types.size).toBeGreaterThan(RESOURCES.length)
  expect(withArguments).toEqual([])
})
