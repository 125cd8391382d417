import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import {
  cloneDatabase,
  dropDatabase,
  withClient,
  type TestService,
  startService,
  testWithService as test,
} from '../support/harness.ts'
import { expectPoolHealthy } from './expect-pool-healthy.ts'
import { givenUrl } from '../support/postgres.ts'

const nameOf = (url: string) => new URL(url).pathname.slice(1)
const inDatabase = (service: TestService, sql: string) =>
  withClient((client) => client.query(sql), nameOf(service.databaseUrl))
const pet = { name: 'x', categoryId: 1 }

/** Statuses of writes and reads through both APIs; for GraphQL those of its errors. */
async function statuses(service: TestService): Promise<{ writes: number[]; reads: number[] }> {
  const mutation = await service.graphql('mutation { createPet(input: { name: "x", categoryId: 1 }) { id } }')
  const query = await service.graphql('{ pets { nodes { id } } }')
  const statusOfGraphQL = ({ errors }: Awaited<ReturnType<TestService['graphql']>>, successStatus: number) =>
    errors?.[0]?.extensions.status ?? successStatus
  const once = service.post(pet, { 'Idempotency-Key': crypto.randomUUID() })
  return {
    writes: [(await service.post(pet)).status, (await once).status, statusOfGraphQL(mutation, 201)],
    reads: [
      (await service.send('/v1/pets')).status,
      (await service.send('/v1/pets/1')).status,
      statusOfGraphQL(query, 200),
    ],
  }
}

const onlyReads = { writes: [503, 503, 503], reads: [200, 200, 200] }
const well = { writes: [201, 201, 201], reads: [200, 200, 200] }

test('a database that became read-only: 503 on writes, reads go on, and all is well once it takes them again', async ({
  service,
}) => {
  expect(await statuses(service)).toEqual(well)
  const name = nameOf(service.databaseUrl)
  const reconnect = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}' AND pid <> pg_backend_pid()`
  await withClient((client) => client.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`))
  await withClient((client) => client.query(reconnect))
  await service.send('/v1/pets') // finds that the old connection has ended
  expect(await statuses(service)).toEqual(onlyReads)
  await withClient((client) => client.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`))
  await withClient((client) => client.query(reconnect))
  await service.send('/v1/pets')
  expect(await statuses(service)).toEqual(well)
})

test('a statement that is too slow is ended: 503, and nothing was written', async ({ service: patient }) => {
  const service = await patient.startPeer({ DATABASE_STATEMENT_TIMEOUT_MS: 1_000 })
  await service.post(pet)
  await inDatabase(
    service,
    `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;
     CREATE TRIGGER slow BEFORE INSERT ON animal FOR EACH ROW EXECUTE FUNCTION slow()`,
  )
  const responses = await Promise.all([service.post(pet), service.post(pet, { 'Idempotency-Key': 'k' })])
  expect(responses.map(({ status }) => status)).toEqual([503, 503])
  const { rows } = await inDatabase(service, 'SELECT count(*)::int AS animals FROM animal')
  expect(rows).toEqual([{ animals: 1 }])
  expect((await service.send('/v1/pets')).status).toBe(200)
  await expectPoolHealthy(service)
})

test('with one connection beside that of the readiness probe: 2xx or 503, as many animals as 201, and all succeed once there are more', async ({
  onTestFinished,
}) => {
  const databaseUrl = await cloneDatabase()
  const role = `role_${nameOf(databaseUrl)}`
  const stops: (() => Promise<void>)[] = []
  onTestFinished(async () => {
    for (const stop of stops) await stop()
    await dropDatabase(databaseUrl)
    await withClient((client) => client.query(`DROP ROLE IF EXISTS ${role}`))
  })
  await withClient(
    (client) =>
      client.query(`CREATE ROLE ${role} LOGIN PASSWORD 'secret' CONNECTION LIMIT 2;
        GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}; GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO ${role}`),
    nameOf(databaseUrl),
  )
  const url = new URL(databaseUrl)
  Object.assign(url, { username: role, password: 'secret' })
  const service = await startService(url.href, stops)
  const got = await withClient(async (client) => {
    await client.query('BEGIN; LOCK TABLE animal IN ACCESS EXCLUSIVE MODE') // the request that holds the connection keeps it
    // Each reads another page: the same one would be read once for all.
    const sent = Array.from({ length: 24 }, (_, n) =>
      n % 2 ? service.post(pet) : service.send(`/v1/pets?limit=${n + 1}`),
    )
    expect((await Promise.race(sent)).status).toBe(503)
    await client.query('ROLLBACK')
    return (await Promise.all(sent)).map(({ status }) => status)
  }, nameOf(databaseUrl))
  expect([200, 201, 503]).toEqual(expect.arrayContaining(got)) // which of them had the connection is chance
  expect(Math.min(...got)).toBeLessThan(300)
  await withClient((client) => client.query(`ALTER ROLE ${role} CONNECTION LIMIT -1`))
  const count = async () => (await service.graphql('{ pets { totalCount } }')).data?.['pets']
  expect(await count()).toEqual({ totalCount: got.filter((status) => status === 201).length })
  expect(await statuses(service)).toEqual(well)
  await expectPoolHealthy(service)
})

/** A file system of so many KB in memory, which takes root on Linux; undefined where that is not to be had. */
function tinyDisk(kilobytes: number): { dir: string; grow(): void; remove(): void } | undefined {
  const dir = mkdtempSync(join(tmpdir(), 'pet-store-disk-'))
  const mount = (...args: string[]) => execFileSync('mount', args, { stdio: 'ignore' })
  try {
    mount('-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', dir)
  } catch {
    rmdirSync(dir)
    return undefined
  }
  chownSync(dir, 65_534, 65_534) // whom root's PostgreSQL runs as
  return {
    dir,
    grow: () => void mount('-o', 'remount,size=8m', dir),
    remove() {
      execFileSync('umount', [dir])
      rmdirSync(dir)
    },
  }
}

describe('a disk that is full', () => {
  test('503 on writes, reads go on, and all is well once there is room', async ({ service, skip, onTestFinished }) => {
    skip(givenUrl !== undefined, 'the server may run as another user or elsewhere')
    const disk = tinyDisk(128)
    if (!disk) return skip('only root can mount a file system that is small enough to be filled')
    const space = `space_${nameOf(service.databaseUrl)}`
    onTestFinished(async () => {
      await withClient((client) => client.query(`DROP TABLESPACE IF EXISTS ${space}`))
      disk.remove()
    })
    expect(await statuses(service)).toEqual(well)
    await withClient((client) => client.query(`CREATE TABLESPACE ${space} LOCATION '${disk.dir}'`))
    await inDatabase(service, `ALTER TABLE animal SET TABLESPACE ${space}`)
    const fill = `DO $$ BEGIN LOOP INSERT INTO animal (name, category_id) VALUES (repeat('x', 255), 1); COMMIT; END LOOP; END $$`
    await expect(inDatabase(service, fill)).rejects.toThrow(/No space left on device/)
    const fillUp = async () => (await service.post({ name: 'x'.repeat(255), categoryId: 1 })).status
    while ((await fillUp()) === 201); // what is left of the last page
    const small = await statuses(service)
    expect(small.reads).toEqual(onlyReads.reads)
    expect(await fillUp()).toBe(503)
    disk.grow()
    expect(await statuses(service)).toEqual(well)
  })
})
