import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { beforeAll, expect, test as base } from 'vitest'
import { pruneIdempotencyKeys } from '../../src/store/idempotency.ts'
import { migrate } from '../../src/database/migrate.ts'
import { readDatabaseState } from '../../src/database/readiness.ts'
import { creations } from '../support/creations.ts'
import { openStream } from '../support/event-stream.ts'
import { startService } from '../support/harness.ts'
import { startOwnServer } from '../support/own-server.ts'
import { storeOf, WITH_ORDERS } from '../second-resource/fixture.ts'
import { ordersMigration, query } from '../support/postgres.ts'
import { keys, runKeysCommand, runMigrateCommand } from '../support/commands.ts'
import { grantsSql, rolesSql } from '../support/role-sql.ts'

/** A server in whose database `pets` the SQL of the page was run, since roles belong to all databases of a server. */
let server = ''
beforeAll(async () => {
  const { url, stop } = await startOwnServer()
  await query(url, 'CREATE DATABASE pets')
  await query(url.replace(/postgres$/, 'pets'), rolesSql)
  // The service names the schema in each of its statements.
  const settings = (role: string) => `ALTER ROLE ${role} PASSWORD 'secret'; ALTER ROLE ${role} SET search_path = ''`
  await query(url, `${settings('petstore_owner')}; ${settings('petstore')}`)
  const { owner } = urlsOf(url, 'pets')
  await migrate(owner)
  await query(owner, `SET search_path = public; ${ordersMigration()} ${grantsSql}`)
  server = url
  return stop
})

/** `urls` are the addresses of a copy of that database. */
const test = base.extend<{ urls: ReturnType<typeof urlsOf> }>({
  urls: async ({}, use) => {
    const database = `pets_${randomUUID().replaceAll('-', '')}`
    const rightsOfDatabase = rolesSql
      .match(/^.*ON DATABASE.*$/gm)
      ?.join('\n')
      .replaceAll(' pets ', ` ${database} `)
    await query(server, `CREATE DATABASE ${database} TEMPLATE pets`)
    await query(server, rightsOfDatabase ?? '')
    await use(urlsOf(server, database))
  },
})

function urlsOf(server: string, pathname: string) {
  const urlOf = (role: object) => Object.assign(new URL(server), { pathname, ...role }).href
  const [owner, service] = ['petstore_owner', 'petstore'].map((username) => urlOf({ username, password: 'secret' }))
  return { administrator: urlOf({}), owner: owner ?? '', service: service ?? '' }
}

test('the SQL of the page gives the rights for migrations, keys, operations and background jobs', async ({ urls }) => {
  const key = await keys(urls.owner, 'create', '--name', 'roles')
  const service = await startService(urls.service, { key, resources: WITH_ORDERS })
  expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
  const stream = await openStream(service, { query: 'subscription { petCreated { node { name } } }' })
  for (const [title, create] of Object.entries(creations)) {
    const created = await create(service, 'Rex')
    expect(created, title).toHaveProperty('id')
    if (title.includes('Idempotency-Key')) expect(await create(service, 'Rex'), title).toEqual(created)
  }
  expect((await service.send('/v1/pets/1')).status).toBe(200)
  const orders = storeOf(service)
  for (const once of [undefined, { clientId: 1n, key: 'order' }]) {
    const { item } = await orders.create({ petId: 1n, quantity: 1 }, once)
    expect(await orders.get(String(item.id))).toEqual(item)
  }
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

test('a member of the role has its rights, so that a new password needs no outage', async ({ urls }) => {
  await query(urls.administrator, "CREATE ROLE petstore_2 LOGIN IN ROLE petstore PASSWORD 'secret'")
  const key = await keys(urls.owner, 'create', '--name', 'roles')
  const service = await startService(urls.service.replace('petstore', 'petstore_2'), { key })
  expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
  for (const [title, create] of Object.entries(creations))
    expect(await create(service, 'Rex'), title).toHaveProperty('id')
})

test('the role of the service can change neither tables nor animals nor keys', async ({ urls }) => {
  const denied = [
    'CREATE TABLE other (id int)',
    'CREATE TEMPORARY TABLE other (id int)',
    'ALTER TABLE animal ADD COLUMN color text',
    'DROP TABLE idempotency_key',
    'TRUNCATE idempotency_key',
    "UPDATE animal SET name = 'Rex'",
    'DELETE FROM animal',
    'UPDATE "order" SET quantity = 2',
    'DELETE FROM "order"',
    "INSERT INTO api_key (name, prefix, hash) VALUES ('', '', '')",
    "UPDATE api_key SET scopes = '{metrics:read}'",
    'DELETE FROM api_key',
    'DELETE FROM _prisma_migrations',
  ]
  const codes = denied.map((sql) =>
    query(urls.service, `SET search_path = public; ${sql}`).catch(({ code }: pg.DatabaseError) => code),
  )
  expect(await Promise.all(codes)).toEqual(denied.map(() => '42501')) // insufficient_privilege
  const line = 'The role of DATABASE_URL must not do this: permission denied for'
  const create = await runKeysCommand(['create', '--name', 'web'], urls.service)
  expect(create).toEqual({ code: 1, stdout: '', stderr: `${line} table api_key\n` })
  const deploy = await runMigrateCommand(['deploy'], urls.service)
  expect(deploy).toEqual({ code: 1, stdout: '', stderr: `${line} schema public\n` })
})

test('the role of the service may use the tables of later migrations', async ({ urls }) => {
  await query(urls.owner, 'SET search_path = public; CREATE TABLE later (id bigserial, name text)')
  const statements =
    "SET search_path = public; INSERT INTO later (name) VALUES ('a'); UPDATE later SET name = 'b'; DELETE FROM later"
  await query(urls.service, statements)
})

test('/readyz names the rights that the table of any resource lacks', async ({ urls }) => {
  const pool = new pg.Pool({ connectionString: urls.service })
  pool.on('connect', (client) => client.on('error', () => {})) // the server may stop before the connection has ended
  const readState = () => readDatabaseState(pool, ['animal', 'order'])
  expect((await readState()).problem).toBeUndefined()
  const revoke = 'REVOKE INSERT ON public."order" FROM petstore; REVOKE ALL ON public.order_id_seq FROM petstore'
  await query(urls.owner, revoke)
  const { problem } = await readState()
  await pool.end()
  const rights = 'INSERT on order, SELECT on order_id_seq, USAGE on order_id_seq'
  expect(problem).toBe(`The role of DATABASE_URL lacks rights: ${rights}.`)
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
