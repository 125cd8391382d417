import fc from 'fast-check'
import { execute, type ExecutionResult, getOperationAST, getVariableValues, parse, validate } from 'graphql'
import { expect, test } from 'vitest'
import type { Animal, animals, NewPet } from '../../src/pets/animal.ts'
import { ApiError } from '../../src/errors.ts'
import { createAnalyze } from '../../src/graphql/analysis.ts'
import { createExecute } from '../../src/graphql/execution.ts'
import { exceededLimits, MAX_TOKENS } from '../../src/graphql/document-limits.ts'
import type { PageRequest } from '../../src/store/lists.ts'
import { Deadline } from '../../src/http/deadline.ts'
import { fragments, RULES, schema, selectionSetOf } from './random-document.ts'

/** Number of documents; `npm run fuzz` executes 50,000. A failure prints the seed; FUZZ_SEED repeats the run. */
const documents = Number(process.env.FUZZ_DOCUMENTS ?? 500)
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31)

/** Variables of the documents: how an operation declares them, and the values that requests send. */
const VARIABLES: Record<string, { declarations: string[]; values: unknown[] }> = {
  w: { declarations: ['Boolean!', 'Boolean! = true'], values: [true, false] },
  y: { declarations: ['Boolean! = false'], values: [true, false, undefined] },
  n: { declarations: ['Int', 'Int = 2'], values: [1, 3, 100, 0, null, undefined] },
  constructor: { declarations: ['Int', 'Int = 100', 'Int! = 3'], values: [4, 5, undefined] },
  ['__proto__']: { declarations: ['Int', 'Int = 3'], values: [1, null, undefined] },
  i: { declarations: ['ID!', 'ID! = "2"'], values: ['1', 2, '999', 'x'] },
  s: { declarations: ['PetStatus', 'PetStatus = sold'], values: ['sold', null, undefined] },
  c: { declarations: ['String'], values: ['YWxsOjM', 'bm9uc2Vuc2U', null, undefined] },
  p: {
    declarations: ['NewPet!'],
    values: ['c', 'c', 'c', ''].map((name) => ({ name, categoryId: '3', status: 'sold' })),
  },
}

const declarations = fc
  .tuple(...Object.values(VARIABLES).map(({ declarations }) => fc.constantFrom(...declarations)))
  .map((types) => types.map((type, n) => `$${Object.keys(VARIABLES)[n]}: ${type}`).join(', '))

const variables = fc
  .tuple(...Object.values(VARIABLES).map(({ values }) => fc.constantFrom(...values)))
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
    feed: { settledId: async () => 7n, requireAssigned: async () => {} },
  }
  const caller = { keyId: 1n, clientId: 1n, keyPrefix: '', scopes: new Set<string>(), expiresAt: null }
  const services = { of: () => service as never } // all that the resolvers use of a service
  return { context: { services, caller, deadline: new Deadline(60_000) }, counts }
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
    let executed = 0
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
            executed++
            const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], variables)
            if (!coerced) return expect.unreachable()
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
    expect(executed).toBeGreaterThan(documents)
  },
)
