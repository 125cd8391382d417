import { rename } from 'node:fs/promises'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { toCursor } from '../../src/animals/cursor.ts'
import { migrate } from '../../src/database/migrate.ts'
import { inDatabase, issueKey, withApiKeys } from '../chaos/cluster.ts'
import { createProgramFolder, postgresBin } from '../chaos/programs.ts'
import { openStream } from '../support/event-stream.ts'
import { startService, type TestService } from '../support/harness.ts'
import { freePort } from '../support/processes.ts'
import { waitUntil } from '../support/timeouts.ts'

const page = readFileSync(new URL('../../docs/backup.md', import.meta.url), 'utf8')

/** The code blocks of a section of the page. */
function blocks(heading: string): string[] {
  const [section = ''] = new RegExp(`^## ${heading}$[^]*?(?=^## |(?![^]))`, 'm').exec(page) ?? []
  return [...section.matchAll(/^ *```\w+\n([^]*?)^ *```$/gm)].map(([, code = '']) => code)
}

const [moveSequence = ''] = blocks('Restore')
const [listInvalidKeys = ''] = blocks('Keys')

/** A PostgreSQL of Debian's packages, and shell commands beside it. */
async function startServer() {
  const folder = await createProgramFolder((cleanUp) => onTestFinished(cleanUp))
  const [path, port] = [await folder.add('server'), await freePort()]
  const address = `postgresql://postgres@127.0.0.1:${port}`
  const [url, backup] = [`${address}/pets`, await folder.add('backup')]
  const shell = (script: string) => {
    const variables = `export DATABASE_URL=${url} PGDATA=${path}/data`
    return folder.run('server', 'bash', ['-euc', `${variables}\n${script.replaceAll('/srv/backup', backup)}`])
  }
  const options = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off`
  const start = () => shell(`pg_ctl start --silent --wait --log=log --options="${options}"`)
  await shell('initdb --username=postgres --no-sync > /dev/null; mkdir /srv/backup/wal')
  return { url, shell, start, data: join(path, 'data'), admin: `${address}/postgres` }
}

const run = (url: string, sql: string) => inDatabase(url, (client) => client.query(sql))

async function withService<T>(url: string, key: string, work: (service: TestService) => Promise<T>): Promise<T> {
  const service = await startService(url, { key })
  return work(service).finally(() => service.stop(0, 0))
}

async function create(service: TestService, count: number): Promise<void> {
  for (let n = 0; n < count; n++) expect((await service.post({ name: 'Rex', categoryId: 1 })).status).toBe(201)
}

const subscribe = (service: TestService, id: bigint) =>
  openStream(service, {
    query: 'subscription ($after: String) { petCreated(after: $after) { node { id } } }',
    variables: { after: toCursor(id) },
  })

/** More than the 32 ids by which the sequence is ahead in the WAL, so that some would be given again. */
const LOST = 40

/** Backs up three animals and two keys, loses more animals and a revocation, and restores. */
async function loseAndRestore(url: string, backUp: () => Promise<unknown>, restore: () => Promise<unknown>) {
  const newestLost = 3n + BigInt(LOST)
  await migrate(url)
  const [key, revoked] = [await issueKey(url), await issueKey(url)]
  await withService(url, key, async (service) => {
    await create(service, 3)
    await backUp()
    await create(service, LOST)
    expect(await service.keys.revoke(revoked.slice(0, 13))).toBe(true)
  })
  await restore()
  await migrate(url)
  await withService(url, revoked, async (service) => {
    expect(await (await service.send('/v1/pets')).json()).toHaveLength(3)
    const stream = await subscribe(service, newestLost)
    await waitUntil(() => stream.ended)
    expect(stream.text).toContain('begin with a new page')
  })
  await run(url, moveSequence)
  await withService(url, key, async (service) => {
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

test.skipIf(!postgresBin)(`a restored dump: cursors from before and after the backup miss nothing${skip}`, async () => {
  const { url, admin, shell, start } = await startServer()
  const [dump = '', rename = '', restore = ''] = blocks('A dump')
  await start()
  await run(admin, 'CREATE DATABASE pets')
  const { key, revoked } = await loseAndRestore(
    url,
    () => shell(dump),
    async () => {
      for (const statement of rename.split('\n').filter(Boolean)) await run(admin, statement)
      await shell(restore)
    },
  )
  const { rows } = await run(url.replace(/pets$/, 'pets_lost'), listInvalidKeys)
  expect(rows).toMatchObject([{ prefix: revoked.slice(0, 13) }])
  await withApiKeys(url, (keys) => keys.revoke(rows[0].prefix))
  await withService(url, key, async (service) => {
    expect((await service.send('/v1/pets')).status).toBe(200)
    expect((await service.send('/v1/pets', { headers: { Authorization: `Bearer ${revoked}` } })).status).toBe(401)
  })
})

test.skipIf(!postgresBin)(`a restored point in time: the same${skip}`, async () => {
  const { url, admin, data, shell, start } = await startServer()
  const [settings = '', base = '', restore = ''] = blocks('A point in time')
  await shell(`cat >> "$PGDATA/postgresql.conf" << 'END'\n${settings}END`)
  await start()
  await run(admin, 'CREATE DATABASE pets')
  await shell(base)
  let time = ''
  await loseAndRestore(
    url,
    async () => (time = (await run(url, 'SELECT now()::text AS time')).rows[0].time),
    async () => {
      await shell('pg_ctl stop --silent --wait --mode=fast')
      await rename(data, `${data}-lost`)
      await shell(restore.replace(/(?<=recovery_target_time = ').*(?=')/, time))
      await start()
      await waitUntil(async () => !(await run(url, 'SELECT pg_is_in_recovery() AS is')).rows[0].is)
    },
  )
})
