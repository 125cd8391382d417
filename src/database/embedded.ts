import { randomBytes, randomInt } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { OperatorError } from '../lib/operator-error.ts'
import { explainFailure, findBinaries, runAsOwner } from './postgres-programs.ts'

/** A process holds this advisory lock, shared, while it uses the server. */
const IN_USE_LOCK = 7_301_986

const START_TIMEOUT_MS = 20_000

/**
 * Uses the PostgreSQL server of a data folder: initialises the folder when it is new, starts the server when it is not
 * running, and shares it when another process started it.
 * @param settings PostgreSQL settings for the start, as `name=value`
 * @param onStop called when the server stops although it is in use. Nothing starts it again
 * @returns its URL, and a function that releases the server, which stops when no process uses it any more
 */
export async function useEmbeddedPostgres(dataDir: string, settings: string[] = [], onStop: () => void = () => {}) {
  const cluster = join(resolve(dataDir), 'postgres')
  if (/["$`]/.test(cluster)) throw unusableError(cluster, 'a shell reads ", $ and ` in its path') // pg_ctl's shell
  const bin = findBinaries()
  if (!existsSync(cluster)) await initialise(cluster)
  // PostgreSQL runs only as the owner of its folder. Root can run it as any user.
  const [{ uid }, own] = [await stat(cluster), process.getuid?.() ?? 0]
  if (own !== 0 && own !== uid) throw unusableError(cluster, `it belongs to another user (uid ${uid})`)
  const deadlineMs = performance.now() + START_TIMEOUT_MS
  for (;;) {
    const url = await runningUrl(cluster)
    const lock = url && (await acquire(url))
    if (lock) {
      lock.once('end', onStop)
      return { url, release: () => release(lock.off('end', onStop), cluster) }
    }
    const failure = await start(bin, cluster, settings)
    if (failure && performance.now() > deadlineMs) {
      throw new OperatorError(`The embedded PostgreSQL does not start (see ${cluster}.log): ${failure}`)
    }
    if (failure) await sleep(100)
  }
}

function unusableError(cluster: string, why: string): OperatorError {
  return new OperatorError(
    `DATA_DIR ${dirname(cluster)} cannot be used: ${why}. Set DATA_DIR to another folder, or DATABASE_URL.`,
  )
}

/** Initialises the folder of a server under another name, so that crashes and races cannot leave a partial one. */
async function initialise(cluster: string): Promise<void> {
  const fresh = `${cluster}.new-${process.pid}`
  const password = `${fresh}.password`
  try {
    await mkdir(dirname(cluster), { recursive: true })
    await rm(fresh, { recursive: true, force: true }) // a killed process may have had the same id
    await writeFile(password, randomBytes(24).toString('hex'), { mode: 0o600 })
    const auth = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${password}`]
    const args = [`--pgdata=${fresh}`, '--encoding=UTF8', '--locale=C', ...auth]
    await runAsOwner(join(findBinaries(), 'initdb'), args, cluster)
    await rename(password, join(fresh, 'password'))
    await rename(fresh, cluster)
  } catch (error) {
    if (!existsSync(cluster)) throw unusableError(cluster, explainFailure(error))
  } finally {
    await Promise.allSettled([fresh, password].map((path) => rm(path, { recursive: true, force: true })))
  }
}

/** @returns why the server did not start, in one line; undefined when it did */
function start(bin: string, cluster: string, settings: string[]): Promise<string | undefined> {
  const port = randomInt(61_000, 65_536) // which Linux gives to no client. If it is in use, the next attempt has another one
  const all = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings]
  const options = all.map((setting) => `-c ${setting}`).join(' ')
  const args = ['start', '-w', '-s', '-D', cluster, '-l', `${cluster}.log`, '-o', options]
  return runAsOwner(join(bin, 'pg_ctl'), args, cluster).then(() => undefined, explainFailure)
}

/** The URL of the server, from its pid file, which remains when the server was killed. */
async function runningUrl(cluster: string): Promise<string | undefined> {
  const pidFile = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => undefined)
  const port = pidFile?.split('\n')[3]
  if (!port) return undefined
  const password = await readFile(join(cluster, 'password'), 'utf8')
  return `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
}

/** @returns a connection that holds IN_USE_LOCK; undefined when the server does not respond */
async function acquire(url: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, keepAlive: true })
  client.on('error', () => {}) // queries report a lost server themselves
  try {
    await client.connect()
    await client.query('SELECT pg_advisory_lock_shared($1)', [IN_USE_LOCK])
    return client
  } catch {
    await client.end().catch(() => {})
    return undefined
  }
}

async function release(lock: pg.Client, cluster: string): Promise<void> {
  try {
    await lock.query('SELECT pg_advisory_unlock_shared($1)', [IN_USE_LOCK])
    const { rows } = await lock.query('SELECT pg_try_advisory_lock($1) AS last', [IN_USE_LOCK])
    if (rows[0].last) await stop(cluster)
  } catch {
    // The server has stopped already.
  } finally {
    await lock.end().catch(() => {})
  }
}

/** Stops the server without pg_ctl, which a second Ctrl-C would end, too. @throws if the server is not running */
async function stop(cluster: string): Promise<void> {
  const pidFile = join(cluster, 'postmaster.pid')
  const pid = Number.parseInt(await readFile(pidFile, 'utf8'), 10)
  process.kill(pid, 'SIGINT') // a fast shutdown
  while (existsSync(pidFile)) {
    process.kill(pid, 0)
    await sleep(20)
  }
}
