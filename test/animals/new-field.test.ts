import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test as base } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { cloneDatabase, dropDatabase } from '../support/harness.ts'
import { collectLog, recordKey } from '../support/output.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** Sends a request to the service with a field `testfield`, which is added as described in docs/architecture.md. */
const test = base.extend<{ send(path: string, body?: object, headers?: HeadersInit): Promise<Response> }>({
  // Vitest parses the fixture's source text, and requires a destructuring pattern as first parameter.
  // oxlint-disable-next-line no-empty-pattern
  async send({}, use) {
    const copy = copyWithField()
    const databaseUrl = await cloneDatabase()
    expect(await createMigration(copy, databaseUrl, 'add_testfield')).toMatch(/^\d{14}_add_testfield$/)
    const { migrate } = (await import(
      join(copy, 'src/database/migrate.ts')
    )) as typeof import('../../src/database/migrate.ts')
    await migrate(databaseUrl)
    expect(await createMigration(copy, databaseUrl, 'no_change')).toBe('undefined')
    const { createService } = (await import(join(copy, 'src/service.ts'))) as typeof import('../../src/service.ts')
    const log = createLogger('info', collectLog())
    const service = createService({ config: loadConfig({}), log, databaseUrl })
    const port = await service.start({ port: 0, host: '127.0.0.1' })
    const key = recordKey(await service.keys.issue('test'))
    await use((path, body, headers) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: body ? 'POST' : 'GET',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
        body: body ? JSON.stringify(body) : null,
      }),
    )
    await service.stop(0, 0)
    await dropDatabase(databaseUrl)
    rmSync(copy, { recursive: true })
  },
})

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
  for (const name of ['src', 'prisma', 'package.json', 'tsconfig.json'])
    cpSync(join(root, name), join(copy, name), { recursive: true })
  mkdirSync(join(copy, 'dist'))
  symlinkSync(join(root, 'dist/public'), join(copy, 'dist/public'))
  insert(join(copy, 'prisma/schema.prisma'), 'model Animal {', '\n  testfield String?')
  insert(join(copy, 'src/animals/animal.ts'), 'const fields = {', 'testfield: z.string().optional(),')
  insert(
    join(copy, 'src/graphql/schema/animal.ts'),
    'const PET_FIELDS: Record<keyof NewPet, PetField> = {',
    "testfield: { output: (t) => t.exposeString('testfield', { nullable: true }), input: (t) => t.string() },",
  )
  return copy
}

function insert(file: string, after: string, text: string): void {
  const [before, rest, ...more] = readFileSync(file, 'utf8').split(after)
  if (rest === undefined || more.length) throw new Error(`${file} must contain "${after}" once`)
  writeFileSync(file, before + after + text + rest)
}

test('a new field is three edits: the database, the contract and one entry in GraphQL', async ({ send }) => {
  const pet = { name: 'Rex', categoryId: 7, testfield: 'red' }
  const created = await send('/v1/pets', pet)
  expect([created.status, await created.json()]).toEqual([201, { id: 1, ...pet }])

  const headers = { 'Idempotency-Key': 'k' }
  expect(await (await send('/v1/pets', { ...pet, testfield: 'blue' }, headers)).json()).toMatchObject({
    testfield: 'blue',
  })
  expect(await (await send('/v1/pets', { ...pet, testfield: 'blue' }, headers)).json()).toMatchObject({
    testfield: 'blue',
  })
  expect((await send('/v1/pets', { ...pet, testfield: 'green' }, headers)).status, 'the key with another value').toBe(
    422,
  )

  const mutation = 'mutation ($input: NewPet!) { createPet(input: $input) { id testfield } }'
  const input = { name: 'Tom', categoryId: '7', testfield: 'black' }
  const mutated = await send('/graphql', { query: mutation, variables: { input } })
  expect(await mutated.json()).toEqual({ data: { createPet: { id: expect.any(String), testfield: 'black' } } })

  const values = ['black', 'blue', 'red']
  const listed = (await (await send('/v1/pets')).json()) as { testfield: string }[]
  expect(listed.map(({ testfield }) => testfield)).toEqual(values)
  expect(await (await send('/v1/pets/1')).json()).toEqual({ id: 1, ...pet })
  const nodes = await (await send('/graphql', { query: '{ pets { nodes { testfield } } }' })).json()
  expect(nodes).toEqual({ data: { pets: { nodes: values.map((testfield) => ({ testfield })) } } })

  const { components } = (await (await send('/openapi.json')).json()) as {
    components: { schemas: Record<'Animal' | 'NewPet', { properties: object }> }
  }
  expect(components.schemas.Animal.properties).toHaveProperty('testfield', { type: 'string' })
  expect(components.schemas.NewPet.properties).toHaveProperty('testfield', { type: 'string' })
  const fieldsOf =
    '{ Animal: __type(name: "Animal") { fields { name } } NewPet: __type(name: "NewPet") { inputFields { name } } }'
  const types = JSON.stringify(await (await send('/graphql', { query: fieldsOf })).json())
  expect(types.match(/"testfield"/g)).toHaveLength(2)
})
