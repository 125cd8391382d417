import pg from 'pg'
import { expect } from 'vitest'
import { pruneIdempotencyKeys } from '../../src/store/idempotency.ts'
import { useEmbeddedPostgres } from '../../src/database/embedded.ts'
import { createReadState } from '../../src/database/readiness.ts'
import { creations } from '../support/creations.ts'
import { openStream } from '../support/event-stream.ts'
import { startService } from '../support/harness.ts'
import { query } from '../support/postgres.ts'
import { runKeysCommand } from '../support/keys-command.ts'
import { testWithProcess } from '../support/processes.ts'
import { grantsSql, rolesSql } from '../support/role-sql.ts'

/** Runs the SQL of the page on a PostgreSQL of its own, since roles belong to all databases of a server, and migrates. */
const test = testWithProcess.extend<{ urls: { administrator: string; owner: string; service: string } }>({
  urls: async ({ sandbox }, use) => {
    await sandbox.initialise()
    const server = await useEmbeddedPostgres(sandbox.dataDir)
    const urlOf = (user: string) =>
      Object.assign(new URL(server.url), { username: user, password: 'secret', pathname: 'pets' }).href
    const administrator = server.url.replace(/\/postgres$/, '/pets')
    const urls = { administrator, owner: urlOf('petstore_owner'), service: urlOf('petstore') }
    await query(server.url, 'CREATE DATABASE pets')
    await query(administrator, rolesSql)
    await query(server.url, "ALTER ROLE petstore_owner PASSWORD 'secret'; ALTER ROLE petstore PASSWORD 'secret'")
    // The service names the schema in each of its statements.
    await query(server.url, "ALTER ROLE petstore_owner SET search_path = ''; ALTER ROLE petstore SET search_path = ''")
    const deploy = await sandbox.run('cli/migrate.js', ['deploy'], { DATABASE_URL: urls.owner })
    expect(deploy).toMatchObject({ code: 0, stderr: '' })
    await query(urls.owner, `SET search_path = public; ${grantsSql}`)
    await use(urls)
    await server.release()
  },
})

async function keys(url: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runKeysCommand(args, url)
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return stdout.trim()
}

test('the SQL of the page gives the rights for migrations, keys, operations and background jobs', async ({ urls }) => {
  const key = await keys(urls.owner, 'create', '--name', 'roles')
  const service = await startService(urls.service, { key })
  expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
  const stream = await openStream(service, { query: 'subscription { petCreated { node { name } } }' })
  for (const [title, create] of Object.entries(creations)) {
    const created = await create(service, 'Rex')
    expect(created, title).toHaveProperty('id')
    if (title.includes('Idempotency-Key')) expect(await create(service, 'Rex'), title).toEqual(created)
  }
  expect((await service.send('/v1/pets/1')).status).toBe(200)
  expect(await (await service.send('/v1/pets?status=sold')).json()).toEqual([])
  const reads =
    '{ pet(id: 1) { name } pets { totalCount liveCursor } sold: pets(status: sold, categoryId: 1) { totalCount } }'
  expect(await service.graphql(reads)).toMatchObject({ data: { pet: { name: 'Rex' }, pets: { totalCount: 4 } } })
  expect(await stream.received(4)).toHaveLength(4)
  await pruneIdempotencyKeys(service.database.prisma)
  await service.stop(0, 0)
  expect(service.log.lines.filter(({ level }) => Number(level) > 30)).toEqual([])
  expect(await keys(urls.owner, 'list')).toMatch(/ \d\d:\d\d$/) // the last use
  await keys(urls.owner, 'rotate', key.slice(0, 13))
  await keys(urls.owner, 'revoke', key.slice(0, 13))
})

test('the role of the service can change neither tables nor animals nor keys', async ({ urls, sandbox }) => {
  const denied = [
    'CREATE TABLE other (id int)',
    'CREATE TEMPORARY TABLE other (id int)',
    'ALTER TABLE animal ADD COLUMN color text',
    'DROP TABLE idempotency_key',
    'TRUNCATE idempotency_key',
    "UPDATE animal SET name = 'Rex'",
    'DELETE FROM animal',
    "INSERT INTO api_key (name, prefix, hash) VALUES ('', '', '')",
    "UPDATE api_key SET scopes = '{metrics:read}'",
    'DELETE FROM api_key',
    'DELETE FROM _prisma_migrations',
  ]
  const codes = denied.map((sql) =>
    query(urls.service, `SET search_path = public; ${sql}`).catch(({ code }: pg.DatabaseError) => code),
  )
  expect(await Promise.all(codes)).toEqual(denied.map(() => '42501')) // insufficient_privilege
  const env = { DATABASE_URL: urls.service }
  const line = 'The role of DATABASE_URL must not do this: permission denied for'
  const create = await runKeysCommand(['create', '--name', 'web'], env.DATABASE_URL)
  expect(create).toEqual({ code: 1, stdout: '', stderr: `${line} table api_key\n` })
  const deploy = await sandbox.run('cli/migrate.js', ['deploy'], env)
  expect(deploy).toEqual({ code: 1, stdout: '', stderr: `${line} schema public\n` })
})

test('the role of the service may use the tables of later migrations', async ({ urls }) => {
  await query(urls.owner, 'SET search_path = public; CREATE TABLE later (id bigserial, name text)')
  const statements =
    "SET search_path = public; INSERT INTO later (name) VALUES ('a'); UPDATE later SET name = 'b'; DELETE FROM later"
  await query(urls.service, statements)
})

test('/readyz names the rights that the table of any resource lacks', async ({ urls }) => {
  await query(urls.owner, 'CREATE TABLE public."order" (id bigserial)')
  const pool = new pg.Pool({ connectionString: urls.service })
  const readState = createReadState(pool, ['animal', 'order'])
  expect((await readState()).problem).toBeUndefined()
  await query(
    urls.owner,
    'REVOKE INSERT ON public."order" FROM petstore; REVOKE ALL ON public.order_id_seq FROM petstore',
  )
  const { problem } = await readState()
  await pool.end()
  expect(problem).toBe(
    'The role of DATABASE_URL lacks rights: INSERT on order, SELECT on order_id_seq, USAGE on order_id_seq.',
  )
})

test.for([
  ['REVOKE INSERT ON public.animal', 'INSERT on animal'],
  ['REVOKE ALL ON ALL SEQUENCES IN SCHEMA public', 'SELECT on animal_id_seq, USAGE on animal_id_seq'],
  [
    'REVOKE ALL ON SCHEMA public',
    'INSERT on animal, SELECT on animal, SELECT on animal_id_seq, USAGE on animal_id_seq, ',
  ],
] as const)('without a right /readyz and what needs it are 503: %s', async ([revoke, missing], { urls }) => {
  const key = await keys(urls.owner, 'create', '--name', 'roles')
  const service = await startService(urls.service, { key })
  await query(urls.administrator, `${revoke} FROM petstore`)
  const ready = await fetch(`${service.base}/readyz`)
  expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining(missing)])
  expect((await service.post({ name: 'Rex', categoryId: 1 })).status).toBe(503)
})
