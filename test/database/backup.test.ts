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
import { ordersMigration, query as run } from '../support/postgres.ts'
import { grantsSql, rolesSql } from '../support/role-sql.ts'
import { waitUntil } from '../support/timeouts.ts'

const [moveSequences = ''] = codeIn('docs/backup.md', 'Restore')
const [listInvalidKeys = ''] = codeIn('docs/backup.md', 'Keys')

type Server = Awaited<ReturnType<typeof startServer>>

/** A PostgreSQL of Debian's packages with the database and the roles of docs/database.md, and shell commands beside it. */
async function startServer(settings = '') {
  const folder = await createProgramFolder((cleanUp) => onTestFinished(cleanUp))
  const [path, port] = [await folder.add('server'), await freePort()]
  const urlOf = (role: string, database: string) => `postgresql://${role}@127.0.0.1:${port}/${database}`
  const [admin, owner] = [urlOf('postgres', 'postgres'), urlOf('petstore_owner', 'pets')]
  const backup = await folder.add('backup')
  const shell = (script: string) => {
    const variables = `export ADMIN_URL=${admin} DATABASE_URL=${owner} PGDATA=${path}/data`
    return folder.run('server', 'bash', ['-euc', `${variables}\n${script.replaceAll('/srv/backup', backup)}`])
  }
  const options = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`
  const start = () => shell(`pg_ctl start --silent --wait --log=log --options="${options}"`)
  await shell('initdb --username=postgres --no-sync > /dev/null; mkdir /srv/backup/wal')
  await shell(`cat >> "$PGDATA/postgresql.conf" << 'END'\n${settings}END`)
  await start()
  await run(admin, 'CREATE DATABASE pets')
  await run(urlOf('postgres', 'pets'), rolesSql)
  await migrate(owner)
  await run(owner, ordersMigration())
  await run(owner, grantsSql)
  return { admin, owner, url: urlOf('petstore', 'pets'), shell, start, data: join(path, 'data') }
}

async function withService({ url }: Server, key: string, work: (service: TestService) => Promise<void>) {
  const service = await startService(url, { key })
  return work(service).finally(() => service.stop(0, 0))
}

async function create(service: TestService, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await service.create()
}

const RIGHTS = `SELECT
  (SELECT datacl::text FROM pg_database WHERE datname = current_database()) AS database,
  (SELECT nspacl::text FROM pg_namespace WHERE nspname = 'public') AS schema,
  (SELECT array_agg(relname || relacl::text ORDER BY relname) FROM pg_class WHERE relacl IS NOT NULL
    AND relnamespace = 'public'::regnamespace) AS tables,
  (SELECT array_agg(defaclacl::text ORDER BY defaclobjtype) FROM pg_default_acl) AS defaults`

/** More than the 32 ids by which the sequence is ahead in the WAL, so that some would be given again. */
const LOST = 40

/** Backs up three animals and two keys, loses more animals and a revocation, and restores. */
async function loseAndRestore(server: Server, backUp: () => Promise<unknown>, restore: () => Promise<unknown>) {
  const { owner } = server
  const [key, revoked] = [await issueKey(owner), await issueKey(owner)]
  const { rows: rights } = await run(owner, RIGHTS)
  await withService(server, key, async (service) => {
    await create(service, 3)
    await backUp()
    await create(service, LOST)
  })
  await withApiKeys(owner, (keys) => keys.revoke(revoked.slice(0, 13)))
  await restore()
  expect((await run(owner, RIGHTS)).rows).toEqual(rights)
  await migrate(owner)
  await run(owner, moveSequences)
  const belowLost = 'SELECT sequencename FROM pg_sequences WHERE coalesce(last_value, 0) < 1000000000'
  expect((await run(owner, belowLost)).rows).toEqual([])
  await withService(server, revoked, async (service) => {
    expect(await (await service.send('/v1/pets')).json()).toHaveLength(3)
    const query = 'subscription ($after: String) { petCreated(after: $after) { node { id } } }'
    const cursors = [2n, 3n, 3n + BigInt(LOST)].map((id) => toCursor(id))
    const streams = await Promise.all(cursors.map((after) => openStream(service, { query, variables: { after } })))
    const added = await service.create()
    expect(added).toBeGreaterThan(1_000_000_000)
    await waitUntil(() => streams.every(({ text }) => text.includes(`"id":"${added}"`)))
    const ids = streams.map(({ text }) => [...text.matchAll(/"id":"(\d+)"/g)].map(([, id]) => Number(id)))
    expect(ids).toEqual([[3, added], [added], [added]])
  })
  return { key, revoked }
}

const skip = postgresBin ? '' : ' (skipped: no PostgreSQL of Debian’s packages is installed)'

test.skipIf(!postgresBin)(
  `a restored dump has the rights of each role, and cursors from before and after the backup miss nothing${skip}`,
  async () => {
    const server = await startServer()
    const { admin, owner, shell } = server
    const [dump = '', keepLost = '', restore = ''] = codeIn('docs/backup.md', 'A dump')
    const { key, revoked } = await loseAndRestore(
      server,
      () => shell(dump),
      async () => {
        await run(admin, keepLost)
        await shell(restore)
      },
    )
    const { rows } = await run(owner.replace(/pets$/, 'pets_lost'), listInvalidKeys)
    expect(rows).toMatchObject([{ prefix: revoked.slice(0, 13) }])
    await withApiKeys(owner, (keys) => keys.revoke(rows[0].prefix))
    await withService(server, key, async (service) => {
      expect((await service.send('/v1/pets')).status).toBe(200)
      expect((await service.send('/v1/pets', { headers: bearer(revoked) })).status).toBe(401)
    })
  },
)

test.skipIf(!postgresBin)(`a restored point in time: the same${skip}`, async () => {
  const [settings = '', base = '', restore = ''] = codeIn('docs/backup.md', 'A point in time')
  const server = await startServer(settings)
  const { admin, data, shell, start } = server
  await shell(base)
  let time = ''
  await loseAndRestore(
    server,
    async () => (time = (await run(admin, 'SELECT now()::text AS time')).rows[0].time),
    async () => {
      await shell('pg_ctl stop --silent --wait --mode=fast')
      await rename(data, `${data}-lost`)
      await shell(restore.replace(/(?<=recovery_target_time = ').*(?=')/, time))
      await start()
      await waitUntil(async () => !(await run(admin, 'SELECT pg_is_in_recovery() AS is')).rows[0].is)
    },
  )
})
