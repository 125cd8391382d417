import type pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { pruneIdempotencyKeys } from '../../src/store/idempotency.ts'
import { migrate } from '../../src/database/migrate.ts'
import { creations } from '../support/creations.ts'
import { openStream } from '../support/event-stream.ts'
import { startService } from '../support/harness.ts'
import { startOwnServer } from '../support/own-server.ts'
import { storeOf, WITH_ORDERS } from '../second-resource/fixture.ts'
import { ordersMigration, query } from '../support/postgres.ts'
import { keys, runKeysCommand, runMigrateCommand } from '../support/commands.ts'
import { grantsSql, rolesSql } from '../support/role-sql.ts'

/** The addresses of a database in which the SQL of the page was run. Roles belong to a whole server. */
const urls = { administrator: '', owner: '', service: '' }
beforeAll(async () => {
  const { url, stop } = await startOwnServer()
  const urlOf = (role: object) => Object.assign(new URL(url), { pathname: 'pets', ...role }).href
  urls.administrator = urlOf({})
  urls.owner = urlOf({ username: 'petstore_owner', password: 'secret' })
  urls.service = urlOf({ username: 'petstore', password: 'secret' })
  await query(url, 'CREATE DATABASE pets')
  await query(urls.administrator, rolesSql)
  // The service names the schema in each of its statements.
  const settings = (role: string) => `ALTER ROLE ${role} PASSWORD 'secret'; ALTER ROLE ${role} SET search_path = ''`
  await query(url, `${settings('petstore_owner')}; ${settings('petstore')}`)
  await migrate(urls.owner)
  await query(urls.owner, `SET search_path = public; ${ordersMigration()} ${grantsSql}`)
  return stop
})

test('the SQL of the page gives the rights for migrations, keys, operations and background jobs', async () => {
  const key = await keys(urls.owner, 'create', '--name', 'roles')
  const service = await startService(urls.service, { key, resources: WITH_ORDERS })
  expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
  const stream = await openStream(service, { query: 'subscription { petCreated { node { name } } }' })
  for (const [title, create] of Object.entries(creations)) {
    const created = await create(service, 'Rex')
    expect(created, title).toHaveProperty('id')
    if (title.includes('Idempotency-Key')) expect(await create(service, 'Rex'), title).toEqual(created)
  }
  const id = await service.create()
  expect((await service.send(`/v1/pets/${id}`)).status).toBe(200)
  const orders = storeOf(service)
  for (const once of [undefined, { clientId: 1n, key: 'order' }]) {
    const { item } = await orders.create({ petId: BigInt(id), quantity: 1 }, once)
    expect(await orders.get(String(item.id))).toEqual(item)
  }
  expect((await service.send('/v1/pets?status=sold')).status).toBe(200)
  const reads = '{ pets { totalCount liveCursor } sold: pets(status: sold, categoryId: 1) { totalCount } }'
  expect(await service.graphql(reads)).toMatchObject({ data: { sold: { totalCount: 0 } } })
  expect(await stream.received(5)).toHaveLength(5)
  await pruneIdempotencyKeys(service.database.prisma)
  await service.stop(0, 0)
  expect(service.log.lines.filter(({ level }) => Number(level) > 30)).toEqual([])
  expect(await keys(urls.owner, 'list')).toMatch(new RegExp(`^${key.slice(0, 13)}.* \\d\\d:\\d\\d$`, 'm')) // the last use
  await keys(urls.owner, 'rotate', key.slice(0, 13))
  await keys(urls.owner, 'revoke', key.slice(0, 13))
})

test('a member of the role has its rights, so that a new password needs no outage', async () => {
  await query(urls.administrator, "CREATE ROLE petstore_2 LOGIN IN ROLE petstore PASSWORD 'secret'")
  const key = await keys(urls.owner, 'create', '--name', 'roles')
  const service = await startService(urls.service.replace('petstore', 'petstore_2'), { key })
  expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
  for (const [title, create] of Object.entries(creations))
    expect(await create(service, 'Rex'), title).toHaveProperty('id')
})

test('the role of the service can change neither tables nor animals nor keys', async () => {
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

test('the role of the service may use the tables of later migrations', async () => {
  await query(urls.owner, 'SET search_path = public; CREATE TABLE later (id bigserial, name text)')
  const statements =
    "SET search_path = public; INSERT INTO later (name) VALUES ('a'); UPDATE later SET name = 'b'; DELETE FROM later"
  await query(urls.service, statements)
})

test('without a right for the table of any resource, /readyz and what needs it are 503, and /readyz names it', async () => {
  const key = await keys(urls.owner, 'create', '--name', 'roles')
  const service = await startService(urls.service, { key, resources: WITH_ORDERS })
  const ofSequence = (name: string) => `SELECT on ${name}_id_seq, USAGE on ${name}_id_seq`
  for (const [right, missing] of [
    ['INSERT ON public."order", public.animal', 'lacks rights: INSERT on animal, INSERT on order.'],
    ['USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public', `${ofSequence('animal')}, ${ofSequence('order')}.`],
    ['USAGE ON SCHEMA public', `INSERT on animal, SELECT on animal, ${ofSequence('animal')}, `],
  ] as const) {
    await query(urls.administrator, `REVOKE ${right} FROM petstore`)
    const ready = await fetch(`${service.base}/readyz`)
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining(missing)])
    expect((await service.post({ name: 'Rex', categoryId: 1 })).status).toBe(503)
    await query(urls.administrator, `GRANT ${right} TO petstore`)
    expect((await fetch(`${service.base}/readyz`)).status).toBe(200)
  }
})
