import fc from 'fast-check'
import {
  executeSync,
  getOperationAST,
  getNullableType,
  getVariableValues,
  isAbstractType,
  isLeafType,
  isObjectType,
  parse,
  validate,
} from 'graphql'
import { expect, test } from 'vitest'
import { Animal } from '../../src/pets/animal.ts'
import { createFormats } from '../../src/graphql/subscription/events.ts'
import { toSelection } from '../../src/graphql/subscription/selection.ts'
import { SSE } from '../../src/graphql/subscription/transports.ts'
import { schema } from '../../src/graphql/schema/index.ts'
import { limits } from '../../src/graphql/limits.ts'
import { fragments, RULES, selectionSetOf } from './random-document.ts'

const MEMBERS = Object.keys(Animal.shape)

const edge = (id: bigint) => ({
  node: { id, name: `animal ${id}`, categoryId: 7n, status: 'sold' as const },
  cursor: () => `cursor ${id}`,
})

function selectionOf(query: string, variables: Record<string, unknown> = {}): string {
  const document = parse(query)
  const operation = getOperationAST(document, 'S') ?? expect.unreachable()
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
  return toSelection(document, operation, coerced ?? expect.unreachable())
}

/** Two selections of one event, which graphql-js merges, among fragments and an operation that are not executed. */
const subscription = fc
  .tuple(selectionSetOf('AnimalEdge'), selectionSetOf('AnimalEdge'), fragments)
  .map(([first, second, others]) => {
    const field = 'p: petCreated(after: $after, status: sold)'
    return `subscription S($w: Boolean!, $y: Boolean = false, $after: String) { ${field} ${first} ...R }
      query Other { __typename }
      fragment R on Subscription { ${field} ${second} }
      ${others}`
  })

test('an event has the result of the document with its variables, as graphql-js executes it', () => {
  const formatOf = createFormats()
  const toJson = (result: object) => JSON.stringify(result)
  const optional = fc.constantFrom({}, { y: true }, { y: false }, { y: null })
  fc.assert(
    fc.property(subscription, fc.boolean(), optional, (query, w, y) => {
      const document = parse(query)
      fc.pre(validate(schema, document, RULES).length === 0)
      const variableValues = { w, ...y, after: 'Y3Vyc29y', unused: 2n ** 60n }
      const expected = executeSync({ schema, document, operationName: 'S', variableValues, rootValue: edge(5n) })
      if (expected.errors) {
        expect(() => selectionOf(query, variableValues)).toThrow('must not be null') // $y
        return
      }
      const text = formatOf(selectionOf(query, variableValues), SSE)(edge(5n), toJson)
      expect(text).toBe(SSE.result(toJson(expected), 'cursor 5'))
    }),
    { numRuns: 500 },
  )
})

test('a selection has no arguments, since the fields of an event have none, and their types are objects or leaves', () => {
  for (const name of ['AnimalEdge', 'Animal']) {
    const type = schema.getType(name)
    if (!isObjectType(type)) return expect.unreachable()
    for (const { args, type: result } of Object.values(type.getFields())) {
      expect(args).toEqual([])
      expect(isObjectType(getNullableType(result)) || isLeafType(getNullableType(result)), String(result)).toBe(true)
    }
  }
})

test('the schema has no interfaces and no unions, without which fields are collected and executed', () => {
  expect(Object.values(schema.getTypeMap()).filter(isAbstractType)).toEqual([])
})

test('a selection is small, whatever the document: what is not in the result is gone, and what is double', () => {
  const names = Array.from({ length: 40 }, (_, n) => `F${n}`.padEnd(500, 'f'))
  const spreads = names.map((name) => `...${name}`).join(' ')
  const fragments = names.map((name) => `fragment ${name} on AnimalEdge { cursor node { id id } ... { cursor } }`)
  const query = `subscription S${'($v: Boolean = true)'} { petCreated(after: "x") { ${spreads} cursor @skip(if: $v) } } # comment\n${fragments.join('\n')}`
  expect(selectionOf(query)).toBe('subscription{petCreated{cursor node{id}}}')
  const aliases = Array.from({ length: 30 }, (_, n) => `a${n}_`.padEnd(limits.aliasLength, 'a'))
  const largest = `subscription S { petCreated { ${aliases.map((name) => `${name}: node { ${MEMBERS.join(' ')} __typename }`).join(' ')} } }`
  expect(selectionOf(largest).length).toBeLessThan(10_000)
})

test('an event is executed once for all streams with the same selection and transport', () => {
  const formatOf = createFormats()
  const created = edge(1n)
  let executed = 0
  const toJson = (result: object) => `${++executed} ${JSON.stringify(result)}`
  const texts = [
    'subscription S { petCreated { node { id } } }',
    'subscription S($after: String) { petCreated(after: $after) { ...F } } fragment F on AnimalEdge { node { id } }',
  ].map((query) => formatOf(selectionOf(query), SSE)(created, toJson))
  expect(texts[0]).toBe(texts[1])
  formatOf(selectionOf('subscription S { petCreated { node { id name } } }'), SSE)(created, toJson)
  expect(executed).toBe(2)
})
