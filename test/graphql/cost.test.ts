import { inspect } from 'node:util'
import { getOperationAST } from 'graphql'
import { expect, test } from 'vitest'
import { type Animal, PetStatus } from '../../src/animals/animal.ts'
import { toAnimal } from '../../src/animals/queries.ts'
import type { Animals } from '../../src/animals/service.ts'
import { ApiError } from '../../src/errors.ts'
import type { GraphQLContext } from '../../src/graphql/schema/builder.ts'
import { analyze } from '../../src/graphql/analysis.ts'
import { createEngine } from '../../src/graphql/engine.ts'
import { checkLimits } from '../../src/graphql/limits.ts'
import { invalidVariables } from '../../src/graphql/variables.ts'
import { schema } from '../../src/graphql/schema/index.ts'
import { Deadline } from '../../src/http/deadline.ts'
import { createRandom, type Random, type RandomDocument, randomDocument, randomVariables } from './random-document.ts'

const DOCUMENTS = Number(process.env.FUZZ_DOCUMENTS ?? 500)
const SEED = Number(process.env.FUZZ_SEED ?? Date.now() % 1_000_000)

/** Executions of each document, with other variables. */
const EXECUTIONS = 3

/** Animals in memory, since the documents are many; counts the animals that were returned. */
function createStore() {
  const animals: Animal[] = [1n, 2n, 3n, 4n, 5n, 6n, 7n].map((id) =>
    toAnimal(id, { name: `animal ${id}`, categoryId: id, status: PetStatus.options[Number(id % 4n)] }),
  )
  const counts = { rows: 0 }
  const service: Animals = {
    async list({ status, limit, olderThan, newerThan, backward = false }) {
      const found = animals
        .filter((a) => (!status || a.status === status) && (olderThan === undefined || a.id < olderThan))
        .filter((a) => newerThan === undefined || a.id > newerThan)
        .sort((a, b) => (a.id < b.id === backward ? -1 : 1))
      const page = found.slice(0, limit)
      counts.rows += page.length
      return { animals: backward ? page.reverse() : page, hasMore: found.length > limit }
    },
    count: async (status) => animals.filter((a) => !status || a.status === status).length,
    async get(petId) {
      const animal = animals.find(({ id }) => String(id) === petId)
      if (!animal) throw new ApiError('NOT_FOUND', 'No animal has this id.')
      counts.rows += 1
      return animal
    },
    async create(pet) {
      const animal = toAnimal(BigInt(animals.length + 1), pet)
      animals.push(animal)
      counts.rows += 1
      return { animal, replayed: false }
    },
  }
  return { service, counts }
}

function contextFor({ service }: ReturnType<typeof createStore>): GraphQLContext {
  const caller = { keyId: 1n, clientId: 1n, name: '', keyPrefix: '', scopes: new Set<string>(), expiresAt: null }
  const feed = { settledId: async () => 7n, follow: () => expect.unreachable('subscriptions are not executed here') }
  return { animals: service, feed, caller, deadline: new Deadline(60_000) }
}

function wrongFields(...request: Parameters<typeof invalidVariables>) {
  const { originalError } = invalidVariables(...request)
  return originalError instanceof ApiError ? originalError.fields : []
}

/** Executes a document repeatedly with random variables. */
async function check(document: RandomDocument, random: Random, engine: ReturnType<typeof createEngine>) {
  const { query, operationNames } = document
  const parsed = engine.parse(query)
  if (engine.validate(parsed).length) return 'invalid'
  const store = createStore()
  for (let n = 0; n < EXECUTIONS; n++) {
    const operation = getOperationAST(parsed, random.pick(operationNames))
    const analysis = operation && analyze(parsed, operation)
    if (!analysis || checkLimits(analysis).length) return 'over a limit'
    const variables = randomVariables(random)
    const request = `${operation.name?.value} with ${inspect(variables)}:\n${query}`
    const coerced = engine.coerceVariables(operation, variables)
    if (!coerced) {
      expect(wrongFields(parsed, operation, variables), request).not.toEqual([])
      continue
    }
    const rowsBefore = store.counts.rows
    const { data } = await engine.execute(parsed, operation, contextFor(store), variables)
    expect(data, request).toBeDefined() // not rejected: the same variables were coerced before
    expect(analysis.cost(coerced), `cost of ${request}`).toBeGreaterThanOrEqual(store.counts.rows - rowsBefore)
  }
  return 'executed'
}

test(
  `${DOCUMENTS} generated documents cost at least the rows that they read, and wrong variables are named (seed ${SEED})`,
  { timeout: 3_600_000 },
  async () => {
    const random = createRandom(SEED)
    const engine = createEngine()
    const outcomes = { executed: 0, invalid: 0, 'over a limit': 0 }
    for (let n = 0; n < DOCUMENTS; n++) outcomes[await check(randomDocument(schema, random), random, engine)]++
    expect(outcomes.executed, JSON.stringify(outcomes)).toBeGreaterThan(DOCUMENTS * 0.7)
  },
)
