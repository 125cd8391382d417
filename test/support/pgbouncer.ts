import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Defer } from '../chaos/assertions.ts'
import { createProgramFolder, poll, versionOf } from '../chaos/programs.ts'
import { freePort } from './processes.ts'
import { accepts } from './proxies.ts'

/** The installed version as [major, minor]; undefined without PgBouncer. */
const version = /PgBouncer (\d+)\.(\d+)/.exec(versionOf('pgbouncer'))?.slice(1).map(Number)

type PoolMode = 'session' | 'transaction'

/** The modes that can be tested: prepared statements in transaction mode need PgBouncer 1.21. */
export const poolModes: PoolMode[] = version ? ['session'] : []
if (version && (version[0] ?? 0) * 100 + (version[1] ?? 0) >= 121) poolModes.push('transaction')

/** A suffix for the titles of tests: the reason if they are skipped. */
export const whySkipped = (mode: PoolMode): string =>
  poolModes.includes(mode) ? '' : ` (PgBouncer${mode === 'transaction' ? ' 1.21' : ''} is not installed)`

/** Parameters that pg sends when it connects, and that PgBouncer rejects unless `ignore_startup_parameters` names them. */
export const IGNORE_PARAMETERS = { ignore_startup_parameters: 'extra_float_digits,statement_timeout,lock_timeout' }

/** Settings of docs/database.md; max_prepared_statements exists since 1.21. */
const SETTINGS = { default_pool_size: '20', query_wait_timeout: '2', server_login_retry: '1' }

/** Starts PgBouncer in front of the server of a URL. @returns the URL of the database through PgBouncer */
export async function startPgBouncer(
  defer: Defer,
  databaseUrl: string,
  mode: PoolMode,
  settings: Record<string, string> = {},
): Promise<string> {
  const folder = await createProgramFolder(defer)
  const { hostname, port: serverPort, username, password } = new URL(databaseUrl)
  const port = await freePort()
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: mode,
    ...(mode === 'transaction' && { max_prepared_statements: '200' }),
    ...SETTINGS,
    ...settings,
  })
  const server = `host=${hostname} port=${serverPort} user=${username} password=${decodeURIComponent(password)}`
  const config = `[databases]\n* = ${server}\n[pgbouncer]\n${lines.map(([name, value]) => `${name} = ${value}`).join('\n')}`
  const path = await folder.add('pgbouncer')
  await writeFile(join(path, 'config.ini'), config)
  const child = folder.start('pgbouncer', 'pgbouncer', ['config.ini'])
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  await poll(async () => child.exitCode !== null || (await accepts(port)))
  if (child.exitCode !== null) throw new Error(`PgBouncer has exited: ${await folder.log('pgbouncer')}`)
  return url.href
}
