import fc from 'fast-check'
import {
  executeSync,
  getOperationAST,
  getNullableType,
  getVariableValues,
  isLeafType,
  isObjectType,
  parse,
  validate,
} from 'graphql'
import { expect, test } from 'vitest'
import { Animal } from '../../src/animals/animal.ts'
import { toAnimal } from '../../src/animals/queries.ts'
import { createFormats } from '../../src/graphql/subscription/events.ts'
import { toSelection } from '../../src/graphql/subscription/selection.ts'
import { SSE } from '../../src/graphql/subscription/transports.ts'
import { schema } from '../../src/graphql/schema/index.ts'
import { limits } from '../../src/graphql/limits.ts'

const MEMBERS = Object.keys(Animal.shape)

const edge = (id: bigint) => ({
  node: toAnimal(id, { name: `animal ${id}`, categoryId: 7n, status: 'sold' }),
  cursor: () => `cursor ${id}`,
})

function selectionOf(query: string, variables: Record<string, unknown> = {}): string {
  const document = parse(query)
  const operation = getOperationAST(document, 'S') ?? expect.unreachable()
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
  return toSelection(document, operation, coerced ?? expect.unreachable())
}

const directive = fc.oneof(
  { weight: 3, arbitrary: fc.constant('') },
  fc
    .tuple(fc.constantFrom('skip', 'include'), fc.constantFrom('$w', '$x', 'true', 'false'))
    .map(([name, value]) => ` @${name}(if: ${value})`),
)
const leaf = (names: string[]) =>
  fc.tuple(fc.constantFrom(...names, '__typename'), fc.boolean(), directive).map(
    // An alias belongs to one field, so that fields never conflict.
    ([name, aliased, condition]) =>
      `${aliased ? `${{ name: '__proto__', id: 'constructor' }[name] ?? `x_${name}`}: ` : ''}${name}${condition}`,
  )
const fragmentsOf = (set: fc.Arbitrary<string>, type: string, spreads: string[]) =>
  fc.oneof(
    fc
      .tuple(fc.constantFrom('', ` on ${type}`), directive, set)
      .map(([on, condition, body]) => `...${on}${condition} ${body}`),
    fc.tuple(fc.constantFrom(...spreads), directive).map(([name, condition]) => `...${name}${condition}`),
  )
const setOf = (one: fc.Arbitrary<string>) =>
  fc.array(one, { minLength: 1, maxLength: 4 }).map((all) => `{ ${all.join(' ')} }`)
/** Selection sets of animals and of edges; a fragment spreads only those after it. */
function selectionSets(spreads: { animal: string[]; edge: string[] }) {
  const { animal, edges } = fc.letrec<Record<'animal' | 'edges', string>>((tie) => ({
    animal: setOf(fc.oneof({ maxDepth: 3 }, leaf(MEMBERS), fragmentsOf(tie('animal'), 'Animal', spreads.animal))),
    edges: setOf(
      fc.oneof(
        { maxDepth: 3 },
        leaf(['cursor']),
        fc
          .tuple(fc.constantFrom('', 'x: ', 'y: '), directive, tie('animal'))
          .map(([alias, condition, set]) => `${alias}node${condition} ${set}`),
        fragmentsOf(tie('edges'), 'AnimalEdge', spreads.edge),
      ),
    ),
  }))
  return { animal, edges }
}
const none = selectionSets({ animal: ['A'], edge: ['E'] })
const subscription = fc
  .tuple(
    none.edges,
    none.edges,
    selectionSets({ animal: ['B'], edge: ['E'] }).animal,
    leaf(['id', 'status']),
    none.animal,
  )
  .map(([first, second, a, b, e]) => {
    const status = '(after: $after, status: sold)'
    return `subscription S($w: Boolean!, $x: Boolean = false, $after: String) {
      p: petCreated${status} ${first} ...R }
      query Other { __typename }
      fragment R on Subscription { p: petCreated${status} ${second} }
      fragment E on AnimalEdge { node ${e} }
      fragment A on Animal ${a.replaceAll('...A', '...B')}
      fragment B on Animal { ${b} }`
  })

test('an event has the result of the document with its variables, as graphql-js executes it', () => {
  const formatOf = createFormats()
  const toJson = (result: object) => JSON.stringify(result)
  let compared = 0
  fc.assert(
    fc.property(
      subscription,
      fc.boolean(),
      fc.constantFrom({}, { x: true }, { x: false }, { x: null }),
      (query, w, optional) => {
        const document = parse(query)
        const errors = validate(schema, document).filter(({ message }) => !message.includes('is never used'))
        if (errors.length > 0) return // fragments in a cycle, for example
        compared++
        const variableValues = { w, ...optional, after: 'Y3Vyc29y', unused: 2n ** 60n }
        const args = { schema, document, operationName: 'S', variableValues }
        const expected = executeSync({ ...args, rootValue: edge(5n) })
        if (expected.errors) {
          expect(() => selectionOf(query, variableValues)).toThrow('must not be null') // $x
          return
        }
        const text = formatOf(selectionOf(query, variableValues), SSE)(edge(5n), toJson)
        expect(text).toBe(SSE.result(toJson(expected), 'cursor 5'))
      },
    ),
    { numRuns: 500 },
  )
  expect(compared).toBeGreaterThan(250)
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

test('a selection is small, whatever the document: what is not in the result is gone, and what is double', () => {
  const names = Array.from({ length: limits.fragments }, (_, n) => `F${n}`.padEnd(500, 'f'))
  const spreads = names.map((name) => `...${name}`).join(' ')
  const fragments = names.map((name) => `fragment ${name} on AnimalEdge { cursor node { id id } ... { cursor } }`)
  const query = `subscription S${'($v: Boolean = true)'} { petCreated(after: "x") { ${spreads} cursor @skip(if: $v) } } # comment\n${fragments.join('\n')}`
  expect(selectionOf(query)).toBe('subscription{petCreated{cursor node{id}}}')
  const aliases = Array.from({ length: limits.aliases }, (_, n) => `a${n}_`.padEnd(limits.aliasLength, 'a'))
  const largest = `subscription S { petCreated { ${aliases.map((name) => `${name}: node { ${MEMBERS.join(' ')} __typename }`).join(' ')} } }`
  expect(selectionOf(largest).length).toBeLessThan(10_000)
})

test('an event is executed once for all streams with the same selection and transport', () => {
  const formatOf = createFormats()
  let executed = 0
  const toJson = (result: object) => `${++executed} ${JSON.stringify(result)}`
  const texts = [
    'subscription S { petCreated { node { id } } }',
    'subscription S($after: String) { petCreated(after: $after) { ...F } } fragment F on AnimalEdge { node { id } }',
  ].map((query) => formatOf(selectionOf(query), SSE)(edge(1n), toJson))
  expect(texts[0]).toBe(texts[1])
  formatOf(selectionOf('subscription S { petCreated { node { id name } } }'), SSE)(edge(1n), toJson)
  expect(executed).toBe(2)
})
