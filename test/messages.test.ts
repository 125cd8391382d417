import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { NewPet, PageSize } from '../src/animals/animal.ts'
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

/** Runs a function on every generated input. @returns how many it rejected, all with messages of our own */
function countRejected<Input>(inputs: fc.Arbitrary<Input>, run: (input: Input) => unknown): number {
  let rejected = 0
  fc.assert(
    fc.property(inputs, (input) => {
      try {
        run(input)
      } catch (error) {
        rejected++
        const issues = (error as { issues?: { message: string }[] }).issues ?? [error as Error] // a ZodError, or ours
        for (const { message } of issues) {
          expect(message).not.toMatch(LIBRARY_SENTENCE)
          expect(message).toMatch(/must|Provide/)
        }
      }
    }),
    { numRuns: 1_000 },
  )
  return rejected
}

test('whatever the body, arguments or parameters are, no message is that of a library', () => {
  const body = fc.oneof(value, record([...Object.keys(NewPet.shape), 'unknown']))
  expect(countRejected(body, (input) => NewPet.parse(input))).toBeGreaterThan(500)
  expect(countRejected(value, (input) => PageSize.parse(input))).toBeGreaterThan(500)

  const persisted = record(['sha256Hash']).map((persistedQuery) => ({ persistedQuery }))
  const members = record(['query', 'documentId', 'variables', 'operationName', 'extensions', 'other'])
  const params = fc.oneof(
    value,
    members,
    fc.oneof(persisted, value).map((extensions) => ({ extensions })),
  )
  expect(countRejected(params, paramsFromBody)).toBeGreaterThan(500)
  const sizes = record(['first', 'last', 'status'])
  expect(countRejected(sizes, toListQuery)).toBeGreaterThan(500)
})

test('whatever the environment variables are, no message is that of a library', () => {
  const text = fc.oneof(
    fc.string(),
    fc.constantFrom('0', '-1', 'true', '99999999999', 'http://x', 'a,b', '10.0.0.0/99'),
  )
  const names = Object.keys(Environment.shape).filter((name) => name !== 'DATABASE_URL_FILE')
  const env = fc.constantFrom(...names).chain((name) => text.map((value) => ({ [name]: value })))
  expect(countRejected(env, loadConfig)).toBeGreaterThan(300)
})

test('a manifest that is not JSON or not a regular file is named, without the sentence of the parser', async ({
  onTestFinished,
}) => {
  const folder = await mkdtemp(join(tmpdir(), 'pet-store-manifest-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = join(folder, 'manifest.json')
  for (const [text, reason] of [
    ['{', 'is not JSON'],
    ['{"a":"b"}', 'is not an object from SHA-256 to document'],
  ] as const) {
    await writeFile(file, text)
    await expect(readManifest(file)).rejects.toThrow(new Error(`TRUSTED_DOCUMENTS_FILE ${file}: ${reason}`))
  }
  await expect(readManifest('/dev/zero')).rejects.toThrow('TRUSTED_DOCUMENTS_FILE /dev/zero: is not a regular file')
})
