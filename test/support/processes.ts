import { type ChildProcess, spawn } from 'node:child_process'
import { randomInt, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { inject, test } from 'vitest'
import { pathOf } from './files.ts'
import { dropDatabase, withClient } from './harness.ts'
import { recordKey, recordOutput } from './output.ts'
import { copyCluster, memoryFolder } from './postgres.ts'
import { GENEROUS_TIMEOUTS, waitUntil } from './timeouts.ts'

type Env = Record<string, string>

/**
 * What the environment of the tests gives to every program that they start: PATH, to find setpriv, and NODE_OPTIONS, by
 * which `npm run nodes` makes deprecations errors.
 */
export const INHERITED: Env = { PATH: process.env.PATH ?? '', NODE_OPTIONS: process.env.NODE_OPTIONS ?? '' }

export interface ProgramResult {
  code: number | null
  stdout: string
  stderr: string
}

/** A temporary data folder, and the built programs with it. Folder and processes are removed after the test. */
export type Sandbox = Omit<Awaited<ReturnType<typeof createSandbox>>, 'close'>

/** A process of the service that is listening. */
export type ServiceProcess = Awaited<ReturnType<Sandbox['start']>>

/** A test with its own sandbox and, if it uses `emptyDatabase`, its own database without a schema. */
export const testWithProcess = test.extend<{ sandbox: Sandbox; emptyDatabase: string }>({
  sandbox: async ({}, use) => {
    const { close, ...sandbox } = await createSandbox()
    await use(sandbox).finally(close)
  },
  emptyDatabase: async ({}, use) => {
    const url = new URL(inject('templateUrl'))
    url.pathname = `test_${randomUUID().replaceAll('-', '')}`
    await withClient((client) => client.query(`CREATE DATABASE ${url.pathname.slice(1)} TEMPLATE template0`))
    await use(url.href).finally(() => dropDatabase(url.href))
  },
})

/** `close` ends its processes and removes its folder. */
async function createSandbox() {
  const dataDir = await mkdtemp(join(memoryFolder() ?? tmpdir(), 'pet-store-cli-'))
  const programs: ReturnType<typeof launch>[] = []
  let closed = false

  function add(program: string, args: string[], env: Env, options?: LaunchOptions) {
    if (closed) throw new Error('The test is over') // a test that timed out may still be running
    const variables = { ...GENEROUS_TIMEOUTS, DATA_DIR: dataDir, PORT: '0', HOST: '127.0.0.1', ...env }
    const added = launch(program, args, variables, options)
    programs.push(added)
    return added
  }

  /** @returns the process id in the postmaster.pid of the embedded PostgreSQL, which removes the file unless killed */
  async function postgresPid() {
    const file = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').catch(() => undefined)
    return file === undefined ? undefined : Number.parseInt(file, 10)
  }

  async function start(env: Env, file = 'main.js') {
    const program = add(file, [], env)
    const lastLine = env.DATABASE_URL ? '"msg":"listening"' : 'Press Ctrl-C to stop.'
    const printed = await program.until((text) => text.includes(lastLine) && /"port":\d+/.test(text))
    const port = Number(/"port":(\d+)/.exec(printed)?.[1])
    /** `printed` is its output until it was listening. */
    return { base: `http://127.0.0.1:${port}`, port, printed, until: program.until, signal: program.signal }
  }

  /** Puts an initialised PostgreSQL into the folder, which takes a tenth of the time that a program needs for it. */
  const initialise = () => copyCluster(inject('initialisedCluster'), dataDir)

  return {
    dataDir,
    postgresPid,
    initialise,
    /** Runs a program of dist/, or an absolute path, and waits until it exits. Only root can run it as another user. */
    run: (program: string, args: string[] = [], env: Env = {}, options?: LaunchOptions) =>
      add(program, args, env, options).exited,
    /** Starts the service on an initialised PostgreSQL and waits until it is listening, by default on a free port. */
    async start(env: Env = {}, program?: string) {
      if (!env.DATABASE_URL && !existsSync(join(dataDir, 'postgres'))) await initialise()
      return start(env, program)
    },
    /** Starts a program of dist/ without waiting for anything. */
    launch: (program: string, env: Env = {}, stdout?: number) => add(program, [], env, { stdout }),
    /** Starts the service in the empty folder, so that it initialises its PostgreSQL itself. */
    startEmpty: () => start({}),
    async close() {
      closed = true
      await Promise.all(programs.map((program) => program.signal('SIGKILL')))
      const pid = await postgresPid()
      if (pid && kill(pid, 'SIGQUIT')) {
        // The folder can only be removed when PostgreSQL no longer writes to it.
        const exited = async () => (await postgresPid()) === undefined || !kill(pid, 0) // killed: the file stays
        await waitUntil(exited).catch(() => kill(pid, 'SIGKILL'))
      }
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

interface LaunchOptions {
  uid?: number | undefined
  /** A file descriptor instead of a pipe. */
  stdout?: number | undefined
}

/** Starts a program of dist/ with only these environment variables and the inherited ones, and collects its output. */
export function launch(program: string, args: string[], env: Env, { uid, stdout: file }: LaunchOptions = {}) {
  const path = resolve(pathOf('dist'), program)
  const child: ChildProcess = spawn(process.execPath, [path, ...args], {
    cwd: tmpdir(), // outside the project, since the programs must not depend on the working directory
    env: { ...INHERITED, ...env },
    stdio: ['ignore', file ?? 'pipe', 'pipe'],
    detached: true, // a process group of its own
    ...(uid !== undefined && { uid }),
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.on('error', (error) => (stderr += error.message)) // it could not be started; "close" follows
  const exited = new Promise<ProgramResult>((resolve) => {
    child.once('close', (code) => {
      recordOutput(withoutPrintedKey(stdout) + stderr)
      resolve({ code, stdout, stderr })
    })
  })
  return {
    child,
    exited,
    /** Waits until its output satisfies a condition. @returns the output; rejects if the process exits before */
    until(condition: (printed: string) => boolean): Promise<string> {
      return new Promise((resolve, reject) => {
        if (condition(stdout)) resolve(stdout)
        child.stdout?.on('data', () => condition(stdout) && resolve(stdout))
        void exited.then((result) => reject(new Error(`The process exited too early: ${JSON.stringify(result)}`)))
      })
    },
    /** Sends a signal to its process group, as a terminal does, and waits until it exits. */
    signal(name: NodeJS.Signals): Promise<ProgramResult> {
      if (child.pid && child.exitCode === null && child.signalCode === null) kill(-child.pid, name)
      return exited
    },
  }
}

/** Removes the key where it is printed on purpose: by the keys command, or in the links of the startup banner. */
export function withoutPrintedKey(stdout: string): string {
  const printed = /(?<=^)pets_[0-9a-z]{57}(?=\n$)|(?<=\/(?:graphql|docs)#key=)pets_[0-9a-z]{57}(?=\n)/g
  stdout.match(printed)?.forEach((key) => recordKey(key))
  return stdout.replace(printed, '')
}

/** @returns whether the process exists, or the process group if the number is negative. Signal 0 only tests that. */
export function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** Listens on a free port of the loopback interface. */
export async function occupyPort(server = createServer()): Promise<{ server: Server; port: number }> {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { server, port: (server.address() as AddressInfo).port } // a TCP server that listens has one
}

/** The ports of this worker of Vitest. fetch refuses 10080, the last of the Fetch standard's bad ports. */
const PORTS = { first: 10_081 + (Number(process.env.VITEST_POOL_ID ?? 0) % 4) * 4_900, count: 4_900 }
let nextPort = randomInt(PORTS.count)

/** @returns a TCP port that is free on the loopback interface, and that the system gives to no outgoing connection */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = PORTS.first + (nextPort++ % PORTS.count)
    const server = createServer()
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
    })
    if (isFree) return port
  }
}

/** @returns a database URL with a port on which nothing listens */
export const unreachableDatabaseUrl = async () => `postgresql://postgres:secret@127.0.0.1:${await freePort()}/postgres`
