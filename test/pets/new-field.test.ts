import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { pathOf } from '../support/files.ts'
import { cloneDatabase, dropDatabase, type TestService } from '../support/harness.ts'

const root = pathOf('')

/** Starts the service with a field `testfield`, which is added as described in docs/architecture.md, until the test ends. */
async function startWithField(): Promise<TestService> {
  const copy = copyWithField()
  onTestFinished(() => rmSync(copy, { recursive: true }))
  const databaseUrl = await cloneDatabase()
  onTestFinished(() => dropDatabase(databaseUrl))
  expect(await createMigration(copy, databaseUrl, 'add_testfield')).toMatch(/^\d{14}_add_testfield$/)
  const { migrate }: typeof import('../../src/database/migrate.ts') = await import(
    join(copy, 'src/database/migrate.ts')
  )
  await migrate(databaseUrl)
  expect(await createMigration(copy, databaseUrl, 'no_change')).toBe('undefined')
  // The harness of the copy starts the service of the copy, and compares its responses with the copy's OpenAPI document.
  const { startService }: typeof import('../support/harness.ts') = await import(join(copy, 'test/support/harness.ts'))
  return startService(databaseUrl)
}

/** Creates a migration in a process of its own, as `npm run migrate -- create` does. @returns its name, or 'undefined' */
async function createMigration(copy: string, databaseUrl: string, name: string): Promise<string> {
  const script = `
    const { createMigration } = await import(process.argv[1])
    console.log(await createMigration(process.argv[2], process.argv[3]))
    process.exit()`
  const args = ['--input-type=module', '-e', script, join(copy, 'prisma/create-migration.mjs'), databaseUrl, name]
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: copy })
  return stdout.trim()
}

/** @returns a folder inside the repository, so that packages are found, and below dist/, which git ignores */
function copyWithField(): string {
  const copy = mkdtempSync(join(root, 'dist/test-new-field-'))
  for (const name of ['src', 'prisma', 'package.json', 'tsconfig.json', 'test/support', 'test/rest'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  mkdirSync(join(copy, 'dist'))
  symlinkSync(join(root, 'dist/public'), join(copy, 'dist/public'))
  insert(join(copy, 'prisma/schema.prisma'), 'model Animal {', '\n  testfield String?')
  insert(join(copy, 'src/pets/animal.ts'), 'const fields = {', 'testfield: z.string().optional(),')
  const graphql = join(copy, 'src/pets/graphql.ts')
  insert(
    graphql,
    'resolve: ({ id }) => id.toString() }),',
    "testfield: t.exposeString('testfield', { nullable: true }),",
  )
  insert(graphql, "description: 'Omitted or null: no status.' }),", 'testfield: t.string(),')
  return copy
}

function insert(file: string, after: string, text: string): void {
  const [before, rest, ...more] = readFileSync(file, 'utf8').split(after)
  if (rest === undefined || more.length) throw new Error(`${file} must contain "${after}" once`)
  writeFileSync(file, before + after + text + rest)
}

test('a new field is four edits: the database, the contract, and the output and the input of GraphQL', async () => {
  const { send, post, graphql } = await startWithField()
  const pet = { name: 'Rex', categoryId: 7, testfield: 'red' }
  expect(await (await post(pet)).json()).toEqual({ id: 1, ...pet })

  const once = { 'Idempotency-Key': 'k' }
  const blue = { ...pet, testfield: 'blue' }
  const created: unknown = await (await post(blue, once)).json()
  expect(created).toMatchObject(blue)
  expect(await (await post(blue, once)).json()).toEqual(created)
  expect((await post(pet, once)).status, 'the key with another value').toBe(422)

  const mutation = 'mutation ($input: NewPet!) { createPet(input: $input) { testfield } }'
  const input = { name: 'Tom', categoryId: '7', testfield: 'black' }
  expect(await graphql(mutation, { input })).toEqual({ data: { createPet: { testfield: 'black' } } })

  const nodes = ['black', 'blue', 'red'].map((testfield) => ({ testfield }))
  expect(await (await send('/v1/pets')).json()).toMatchObject(nodes)
  expect(await (await send('/v1/pets/1')).json()).toEqual({ id: 1, ...pet })
  expect(await graphql('{ pets { nodes { testfield } } }')).toEqual({ data: { pets: { nodes } } })
})
