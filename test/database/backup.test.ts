import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toCursor } from '../../src/pets/animal.ts'
import { migrate } from '../../src/database/migrate.ts'
import { issueKey, withApiKeys } from '../chaos/cluster.ts'
import { createProgramFolder, postgresBin } from '../chaos/programs.ts'
import { openStream } from '../support/event-stream.ts'
import { codeIn } from '../support/files.ts'
import { bearer, startService, type TestService } from '../support/harness.ts'
import { freePort } from '../support/processes.ts'
import { WITH_ORDERS } from '../second-resource/fixture.ts'
import { ordersMigration, query as run } from '../support/postgres.ts'
import { grantsSql, rolesSql } from '../support/role-sql.ts'
import { waitUntil } from '../support/timeouts.ts'

const [moveSequences = ''] = codeIn('docs/backup.md', 'Restore')
const [listInvalidKeys = ''] = codeIn('docs/backup.md', 'Keys')

/** The addresses of an administrator, of the owner of the tables, and of the service. */
interface Urls {
  admin: string
  owner: string
  service: string
}

/** A PostgreSQL of Debian's packages, and shell commands beside it. */
async function startServer() {
  const folder = await createProgramFolder((cleanUp) => onTestFinished(cleanUp))
  const [path, port] = [await folder.add('server'), await freePort()]
  const urlOf = (role: string, database: string) => `postgresql://${role}@127.0.0.1:${port}/${database}`
  const urls = {
    admin: urlOf('postgres', 'postgres'),
    owner: urlOf('petstore_owner', 'pets'),
    service: urlOf('petstore', 'pets'),
  }
  const backup = await folder.add('backup')
  const shell = (script: string) => {
    const variables = `export ADMIN_URL=${urls.admin} DATABASE_URL=${urls.owner} PGDATA=${path}/data`
    return folder.run('server', 'bash', ['-euc', `${variables}\n${script.replaceAll('/srv/backup', backup)}`])
  }
  const options = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`
  const start = () => shell(`pg_ctl start --silent --wait --log=log --options="${options}"`)
  await shell('initdb --username=postgres --no-sync > /dev/null; mkdir /srv/backup/wal')
  /** Creates the database with the roles of docs/database.md. */
  async function createPets() {
    await run(urls.admin, 'CREATE DATABASE pets')
    await run(urlOf('postgres', 'pets'), rolesSql)
    await migrate(urls.owner)
    await run(urls.owner, ordersMigration())
    await run(urls.owner, grantsSql)
  }
  return { urls, shell, start, createPets, data: join(path, 'data') }
}

async function withService<T>(url: string, key: string, work: (service: TestService) => Promise<T>): Promise<T> {
  const service = await startService(url, { key })
  return work(service).finally(() => service.stop(0, 0))
}

async function create(service: TestService, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await service.create()
}

const subscribe = (service: TestService, id: bigint) =>
  openStream(service, {
    query: 'subscription ($after: String) { petCreated(after: $after) { node { id } } }',
    variables: { after: toCursor(id) },
  })

const RIGHTS = `SELECT
  (SELECT datacl::text FROM pg_database WHERE datname = current_database()) AS database,
  (SELECT nspacl::text FROM pg_namespace WHERE nspname = 'public') AS schema,
  (SELECT array_agg(relname || relacl::text ORDER BY relname) FROM pg_class WHERE relacl IS NOT NULL
    AND relnamespace = 'public'::regnamespace) AS tables,
  (SELECT array_agg(defaclacl::text ORDER BY defaclobjtype) FROM pg_default_acl) AS defaults`

/** More than the 32 ids by which the sequence is ahead in the WAL, so that some would be given again. */
const LOST = 40

/** Backs up three animals and two keys, loses more animals and a revocation, and restores. */
async function loseAndRestore(urls: Urls, backUp: () => Promise<unknown>, restore: () => Promise<unknown>) {
  const newestLost = 3n + BigInt(LOST)
  const [key, revoked] = [await issueKey(urls.owner), await issueKey(urls.owner)]
  const { rows: rights } = await run(urls.owner, RIGHTS)
  await withService(urls.service, key, async (service) => {
    await create(service, 3)
    await backUp()
    await create(service, LOST)
  })
  await withApiKeys(urls.owner, (keys) => keys.revoke(revoked.slice(0, 13)))
  await restore()
  expect((await run(urls.owner, RIGHTS)).rows).toEqual(rights)
  await migrate(urls.owner)
  await withService(urls.service, revoked, async (service) => {
    expect(await (await service.send('/v1/pets')).json()).toHaveLength(3)
    const stream = await subscribe(service, newestLost)
    await waitUntil(() => stream.ended)
    expect(stream.text).toContain('begin with a new page')
  })
  await run(urls.owner, moveSequences)
  const { rows: sequences } = await run(urls.owner, 'SELECT sequencename AS name, last_value AS last FROM pg_sequences')
  expect(sequences.map(({ name }) => name).sort()).toEqual(
    [...WITH_ORDERS.map(({ resource }) => `${resource.table}_id_seq`), 'api_key_id_seq'].sort(),
  )
  for (const { name, last } of sequences) expect(Number(last), name).toBeGreaterThanOrEqual(1_000_000_000)
  await withService(urls.service, key, async (service) => {
    const streams = await Promise.all([2n, 3n, newestLost].map((id) => subscribe(service, id)))
    await create(service, 1)
    const idsOf = (text: string) => [...text.matchAll(/"id":"(\d+)"/g)].map(([, id]) => id)
    await waitUntil(() => streams.every(({ text }) => idsOf(text).length > 0))
    const [added] = (await (await service.send('/v1/pets?limit=1')).json()) as { id: number }[]
    expect(added?.id).toBeGreaterThan(1_000_000_000)
    await waitUntil(() => idsOf(streams[0]?.text ?? '').length === 2)
    expect(streams.map(({ text }) => idsOf(text))).toEqual([['3', `${added?.id}`], [`${added?.id}`], [`${added?.id}`]])
  })
  return { key, revoked }
}

const skip = postgresBin ? '' : ' (skipped: no PostgreSQL of Debian’s packages is installed)'

test.skipIf(!postgresBin)(
  `a restored dump has the rights of each role, and cursors from before and after the backup miss nothing${skip}`,
  async () => {
    const { urls, shell, start, createPets } = await startServer()
    const [dump = '', keepLost = '', restore = ''] = codeIn('docs/backup.md', 'A dump')
    await start()
    await createPets()
    const { key, revoked } = await loseAndRestore(
      urls,
      () => shell(dump),
      async () => {
        await run(urls.admin, keepLost)
        await shell(restore)
      },
    )
    const { rows } = await run(urls.owner.replace(/pets$/, 'pets_lost'), listInvalidKeys)
    expect(rows).toMatchObject([{ prefix: revoked.slice(0, 13) }])
    await withApiKeys(urls.owner, (keys) => keys.revoke(rows[0].prefix))
    await withService(urls.service, key, async (service) => {
      expect((await service.send('/v1/pets')).status).toBe(200)
      expect((await service.send('/v1/pets', { headers: bearer(revoked) })).status).toBe(401)
    })
  },
)

test.skipIf(!postgresBin)(`a restored point in time: the same${skip}`, async () => {
  const { urls, data, shell, start, createPets } = await startServer()
  const [settings = '', base = '', restore = ''] = codeIn('docs/backup.md', 'A point in time')
  await shell(`cat >> "$PGDATA/postgresql.conf" << 'END'\n${settings}END`)
  await start()
  await createPets()
  await shell(base)
  let time = ''
  await loseAndRestore(
    urls,
    async () => (time = (await run(urls.admin, 'SELECT now()::text AS time')).rows[0].time),
    async () => {
      await shell('pg_ctl stop --silent --wait --mode=fast')
      await rename(data, `${data}-lost`)
      await shell(restore.replace(/(?<=recovery_target_time = ').*(?=')/, time))
      await start()
      await waitUntil(async () => !(await run(urls.admin, 'SELECT pg_is_in_recovery() AS is')).rows[0].is)
    },
  )
})
