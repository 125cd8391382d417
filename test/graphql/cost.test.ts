import fc from 'fast-check'
import { buildSchema, execute, type ExecutionResult, getOperationAST } from 'graphql'
import { getVariableValues, parse, validate } from 'graphql'
import { expect, test } from 'vitest'
import type { Animal, animals, NewPet } from '../../src/pets/animal.ts'
import { ApiError } from '../../src/errors.ts'
import { createAnalyze } from '../../src/graphql/analysis.ts'
import { createExecute } from '../../src/graphql/execution.ts'
import { exceededLimits, MAX_TOKENS, ERROR_OPTIONS } from '../../src/graphql/document-limits.ts'
import type { PageRequest } from '../../src/store/lists.ts'
import { Deadline } from '../../src/http/deadline.ts'
import { fragments, RULES, schema, selectionSetOf } from './random-document.ts'

/** Number of documents; `npm run fuzz` executes 50,000. A failure prints the seed; FUZZ_SEED repeats the run. */
const documents = Number(process.env.FUZZ_DOCUMENTS ?? 500)
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)

const NEW_PET = { name: 'c', categoryId: '3', status: 'sold' }

/** Variables of the documents: how an operation declares them, and the values that requests send. */
const VARIABLES: Record<string, { declarations: string[]; valid: unknown[]; invalid: unknown[] }> = {
  w: { declarations: ['Boolean!', 'Boolean! = true'], valid: [true, false], invalid: [null, 0] },
  y: { declarations: ['Boolean! = false'], valid: [true, false, undefined], invalid: [null, 'true'] },
  n: { declarations: ['Int', 'Int = 2'], valid: [1, 3, 100, 0, null, undefined], invalid: [2.5, 'x', 2 ** 31, 1e20] },
  constructor: { declarations: ['Int', 'Int = 100', 'Int! = 3'], valid: [4, 5, undefined], invalid: ['x'] },
  ['__proto__']: { declarations: ['Int', 'Int = 3'], valid: [1, null, undefined], invalid: [{}] },
  i: { declarations: ['ID!', 'ID! = "2"'], valid: ['1', 2, '999', 'x'], invalid: [null, 1.5, 2n ** 60n, Number.NaN] },
  s: { declarations: ['PetStatus', 'PetStatus = sold'], valid: ['sold', null, undefined], invalid: ['lost'] },
  c: { declarations: ['String'], valid: ['YWxsOjM', 'bm9uc2Vuc2U', null, undefined], invalid: [5] },
  p: {
    declarations: ['NewPet!'],
    valid: [NEW_PET],
    invalid: [
      { name: '', categoryId: '2' },
      { categoryId: 'x', status: null },
      { ...NEW_PET, unknown: 1 },
    ],
  },
}

const declarations = fc
  .tuple(...Object.values(VARIABLES).map(({ declarations }) => fc.constantFrom(...declarations)))
  .map((types) => types.map((type, n) => `$${Object.keys(VARIABLES)[n]}: ${type}`).join(', '))

const variables = fc
  .tuple(
    ...Object.values(VARIABLES).map(({ valid, invalid }) =>
      fc.oneof({ weight: 30, arbitrary: fc.constantFrom(...valid) }, fc.constantFrom(...invalid)),
    ),
  )
  .map((values) => Object.keys(VARIABLES).map((name, n) => [name, values[n]] as const))
  .map((entries): Record<string, unknown> => Object.fromEntries(entries.filter(([, value]) => value !== undefined)))

/** Half of them have one operation, half of these no directives: then requests share the selected fields. */
const document = fc
  .tuple(declarations, selectionSetOf('Query'), selectionSetOf('Mutation'), fragments)
  .chain(([types, query, mutation, rest]) => {
    const text = `query Q(${types}) ${query}\nmutation M(${types}) ${mutation}\n${rest}`
    const single = text.replace(/^mutation.*/m, '')
    return fc.constantFrom(text, text, single, single.replaceAll(/ @\w+\(.*?\)/g, ''))
  })

const toAnimal = (id: bigint, members: object) => ({ id, ...members }) as Animal // as far as the members are those of one

/** Members of animals. Those of a damaged table do not fit the schema. */
const INTACT = { name: 'Rex', categoryId: 1n, status: 'sold' }
const members = fc.oneof(
  { weight: 4, arbitrary: fc.constant(INTACT) },
  fc.constantFrom({ ...INTACT, name: null }, { ...INTACT, status: 'lost' }),
)

/** Animals in memory, since the documents are many. Counts the animals that are read, as if every page were full. */
function createStore(last: { [Member in keyof NewPet]: unknown }) {
  const first = toAnimal(2n, INTACT)
  const animal = toAnimal(1n, last)
  const counts = { rows: 0 }
  const service = {
    async list({ limit }: PageRequest<typeof animals>): Promise<{ items: Animal[]; hasMore: boolean }> {
      counts.rows += limit
      return { items: [first, animal], hasMore: true }
    },
    count: async () => 1,
    async get(petId: string) {
      if (petId === '999') throw new ApiError('NOT_FOUND', 'No animal has this id.')
      counts.rows += 1
      return animal
    },
    async create() {
      counts.rows += 1
      return { item: animal, replayed: false }
    },
  }
  const caller = { keyId: 1n, clientId: 1n, keyPrefix: '', scopes: new Set<string>(), expiresAt: null }
  const follow = () => expect.unreachable('subscriptions are not executed here')
  const feed = { settledId: async () => 7n, requireAssigned: async () => {}, follow }
  const services = { of: () => ({ ...service, feed }) as never } // all that the resolvers use of a service
  return { context: { services, caller, deadline: new Deadline(60_000) }, counts, service }
}

/** Of several errors that make the same value null, one suffices, as the GraphQL specification says. */
function expectSame(result: ExecutionResult, expected: ExecutionResult): void {
  expect(JSON.stringify(result.data)).toBe(JSON.stringify(expected.data))
  const [errors, reference] = [result, expected].map((one) => one.errors?.map((error) => JSON.stringify(error)) ?? [])
  expect(reference).toEqual(expect.arrayContaining(errors ?? []))
  expect(nullsOf(result)).toEqual(nullsOf(expected))
}

/** The paths of the values that errors made null. */
function nullsOf({ data, errors = [] }: ExecutionResult): Set<string> {
  const nulls = errors.map(({ path = [] }) => {
    let value: unknown = data
    const depth = path.findIndex((key) => {
      if (value === null) return true
      value = (value as Record<string | number, unknown>)[key] // the path leads through objects and lists
      return false
    })
    return JSON.stringify(depth < 0 ? path : path.slice(0, depth))
  })
  return new Set(nulls)
}

test(
  `${documents} generated documents have the results of graphql-js, cost at least the rows that they read (seed ${seed})`,
  { timeout: 3_600_000 },
  async () => {
    const analyze = createAnalyze(schema)
    const executeRequest = createExecute(schema)
    const counted = { executed: 0, rejected: 0, unconditional: 0 }
    const request = fc.record({ operationName: fc.constantFrom('Q', 'M'), variables })
    await fc.assert(
      fc.asyncProperty(
        document,
        members,
        fc.array(request, { minLength: 3, maxLength: 3 }),
        async (query, last, inputs) => {
          const parsed = parse(query)
          fc.pre(Number(parsed.tokenCount) <= MAX_TOKENS)
          fc.pre(validate(schema, parsed, RULES).length === 0)
          const { context, counts } = createStore(last)
          const reference = createStore(last)
          for (const { operationName, variables } of inputs) {
            const operation = getOperationAST(parsed, operationName)
            if (!operation) continue
            const analysis = analyze(parsed)
            if (exceededLimits(analysis).length) continue
            const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables, ERROR_OPTIONS)
            if (!coerced) {
              counted.rejected++
              continue
            }
            counted.executed++
            if (!/^mutation|@/m.test(query)) counted.unconditional++
            const before = counts.rows
            const request = { document: parsed, operation, variables: coerced }
            const result = await executeRequest(request, context)
            const args = { schema, document: parsed, operationName, variableValues: variables }
            expectSame(result, await execute({ ...args, contextValue: reference.context }))
            expect(counts).toEqual(reference.counts) // no mutation after a failed one
            expect(analysis.costOf(operation, coerced)).toBeGreaterThanOrEqual(counts.rows - before)
          }
        },
      ),
      { numRuns: documents, seed },
    )
    expect(counted.executed).toBeGreaterThan(documents)
    expect(counted.unconditional).toBeGreaterThan(documents / 10)
    expect(counted.rejected).toBeGreaterThan(documents / 10)
  },
)

test('a resolver may return a promise of another class, as those of Prisma are', async () => {
  // oxlint-disable-next-line unicorn/no-thenable -- what the test is about
  const thenable = (promise: Promise<number>) => ({ then: promise.then.bind(promise) })
  const resolvers = {
    one: () => thenable(Promise.resolve(1)),
    none: () => thenable(Promise.reject(new Error('None.'))),
  }
  const built = buildSchema('type Query { one: Int! none: Int }')
  for (const [name, resolve] of Object.entries(resolvers))
    Object.assign(built.getQueryType()?.getFields()[name] ?? {}, { resolve })
  const document = parse('{ one none }')
  const operation = getOperationAST(document) ?? expect.unreachable()
  const { context } = createStore(INTACT)
  const { data, errors } = await createExecute(built)({ document, operation, variables: {} }, context)
  expect({ data: { ...data }, errors: errors?.map(({ path, message }) => ({ path, message })) }).toEqual({
    data: { one: 1, none: null },
    errors: [{ path: ['none'], message: 'None.' }],
  })
})
