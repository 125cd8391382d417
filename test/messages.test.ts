import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NewPet } from '../src/pets/animal.ts'
import { PageSize } from '../src/store/contract.ts'
import { loadConfig } from '../src/config.ts'
import { Environment } from '../src/environment.ts'
import { paramsFromBody } from '../src/graphql/params.ts'
import { toListQuery } from '../src/graphql/schema/list-query.ts'
import { readManifest } from '../src/graphql/trusted-documents.ts'
import { LIBRARY_SENTENCE } from './catalogue/case.ts'

/** A value of any type, often one that a member or variable takes. */
const value = fc.oneof(
  fc.anything({ withBigInt: true, withNullPrototype: true, maxDepth: 2 }),
  fc.constantFrom('', 'sold', '7', 0, 1.5, 2 ** 53, 2n ** 64n, Number.NaN, null, undefined, {}, [], [[]], true),
)

const record = (names: string[]) =>
  fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] })

const persisted = record(['sha256Hash']).map((persistedQuery) => ({ persistedQuery }))
const text = fc.oneof(fc.string(), fc.constantFrom('0', '-1', 'true', '99999999999', 'http://x', 'a,b', '10.0.0.0/99'))
const variables = Object.keys(Environment.shape).filter((name) => name !== 'DATABASE_URL_FILE')

const inputs: [title: string, generated: fc.Arbitrary<unknown>, parse: (input: unknown) => unknown][] = [
  ['body', fc.oneof(value, record([...Object.keys(NewPet.shape), 'unknown'])), (body) => NewPet.parse(body)],
  ['page size', value, (size) => PageSize.parse(size)],
  [
    'GraphQL request',
    fc.oneof(
      value,
      record(['query', 'documentId', 'variables', 'operationName', 'extensions', 'other']),
      fc.oneof(persisted, value).map((extensions) => ({ extensions })),
    ),
    paramsFromBody,
  ],
  ['list of arguments', record(['first', 'last', 'status', 'categoryId']), toListQuery],
  [
    'environment variable',
    fc.constantFrom(...variables).chain((name) => text.map((value) => ({ [name]: value }))),
    (env) => loadConfig(env as Record<string, string>), // as generated
  ],
]
test.for(inputs)('whatever the %s is, no message is that of a library', ([, generated, parse]) => {
  let rejected = 0
  const check = (input: unknown) => {
    try {
      parse(input)
    } catch (error) {
      rejected++
      const issues = (error as { issues?: { message: string }[] }).issues ?? [error as Error] // a ZodError, or ours
      for (const { message } of issues) {
        expect(message).not.toMatch(LIBRARY_SENTENCE)
        expect(message).toMatch(/must|Provide/)
      }
    }
  }
  fc.assert(fc.property(generated, check), { numRuns: 1_000 })
  expect(rejected).toBeGreaterThan(300)
})

test.for([
  ['README.md', 'is not JSON'],
  ['package.json', 'is not an object from SHA-256 to document'],
  ['test', 'EISDIR: illegal operation on a directory, read'],
] as const)('a manifest %s is rejected, without the sentence of the parser: %s', async ([file, reason]) => {
  const message = await readManifest(file).catch((error: Error) => error.message)
  expect(message).toMatch(new RegExp(`^TRUSTED_DOCUMENTS_FILE ${file}: ${reason}( 'test')?$`)) // Node 26 names the path
})
