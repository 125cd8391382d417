import { appendFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { migrate } from '../../src/database/migrate.ts'
import { findBinaries, runAsOwner } from '../../src/database/postgres-programs.ts'
import { startOwnServer } from './own-server.ts'
import { inDatabase, query } from './postgres.ts'
import { freePort } from './processes.ts'

/** A PostgreSQL server with the schema of the service, and a standby that streams from it. */
export type Replication = Awaited<ReturnType<typeof startReplication>>

const SETTINGS = ['wal_level=replica', 'max_wal_senders=5', 'max_connections=100']

/** @param options.initialise whether the primary has a system identifier of its own */
export async function startReplication({ initialise = false } = {}) {
  const server = await startOwnServer({ settings: SETTINGS, initialise })
  await migrate(server.url)
  const standbys: Awaited<ReturnType<typeof startStandby>>[] = []
  async function addStandby() {
    const standby = await startStandby(server, standbys.length)
    standbys.push(standby)
    return standby
  }
  const standby = await addStandby().catch(async (error: unknown) => {
    await server.stop()
    throw error
  })
  return {
    primaryUrl: server.url,
    standby,
    addStandby,
    async stop() {
      await Promise.allSettled(standbys.map(({ crash }) => crash())) // one may have crashed
      await server.stop()
    },
  }
}

async function startStandby(primary: Awaited<ReturnType<typeof startOwnServer>>, number: number) {
  const folder = join(primary.folder, `standby-${number}`)
  await backUp(primary.url, join(primary.folder, 'postgres'), folder)
  const port = await freePort()
  const url = primary.url.replace(/:\d+\//, `:${port}/`)
  const bin = findBinaries()
  const control = (...args: string[]) => runAsOwner(join(bin, 'pg_ctl'), [...args, '-D', folder, '-s'], folder)
  const options = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=100`
  const start = () => control('start', '-w', '-l', `${folder}.log`, '-o', options)
  await start()
  const crash = () => control('stop', '-m', 'immediate')
  /** Makes a primary of it that continues the same timeline, as a copy or a snapshot of the primary does. */
  async function separate(): Promise<void> {
    await control('stop', '-m', 'fast')
    await rm(join(folder, 'standby.signal'))
    await start()
  }
  return { url, query: (sql: string) => query(url, sql), start, crash, separate }
}

/** What pg_basebackup does, which is not among the embedded programs. */
async function backUp(url: string, primary: string, standby: string): Promise<void> {
  await inDatabase(url, async (client) => {
    await client.query("SELECT pg_backup_start('standby', true)")
    await runAsOwner('cp', ['-a', primary, standby], primary) // as the owner of the cluster, who must own the copy
    await rm(join(standby, 'postmaster.pid'))
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    await writeFile(join(standby, 'backup_label'), rows[0]?.labelfile ?? '')
  })
  await appendFile(join(standby, 'postgresql.auto.conf'), `primary_conninfo = '${connectionInfo(url)}'\n`)
  await writeFile(join(standby, 'standby.signal'), '')
}

/** The address of a server for primary_conninfo. */
export function connectionInfo(url: string): string {
  const { hostname, port, username, password } = new URL(url)
  return `host=${hostname} port=${port} user=${username} password=${password}`
}
