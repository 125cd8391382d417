import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { inject, test } from 'vitest'
import { dropDatabase, withClient } from './harness.ts'
import { keepKey, keepOutput } from './output.ts'
import { GENEROUS_TIMEOUTS, waitUntil } from './timeouts.ts'

type Env = Record<string, string>

export interface ProgramResult {
  code: number | null
  stdout: string
  stderr: string
}

/** The service as a process that listens. */
export interface ServiceProcess {
  base: string
  port: number
  /** What it has printed until it listened. */
  printed: string
  /** Waits until its output satisfies a condition. @returns the output; rejects if the process ends before */
  until(enough: (printed: string) => boolean): Promise<string>
  /** Sends a signal as a terminal does: to it and all that it runs in its process group. @returns its end */
  signal(name: NodeJS.Signals): Promise<ProgramResult>
}

/** A data folder, and the built programs working on it. Nothing of them outlives the test. */
export interface Sandbox {
  dataDir: string
  /** Runs a program of dist/ to its end. */
  run(program: string, args?: string[], env?: Env): Promise<ProgramResult>
  /** Starts the service, on a free port if nothing else is said, and waits until it listens. */
  start(env?: Env): Promise<ServiceProcess>
  /** The process of the folder's PostgreSQL, which keeps it in a file while it runs (and leaves it when killed). */
  postgresPid(): Promise<number | undefined>
}

/** The fixture `sandbox`, for tests that have others besides. */
// Vitest reads the fixture's first parameter and wants a pattern there.
// oxlint-disable-next-line no-empty-pattern
export async function withSandbox({}, use: (sandbox: Sandbox) => Promise<void>): Promise<void> {
  const { close, ...sandbox } = await createSandbox()
  await use(sandbox).finally(close)
}

/** A test with a sandbox of its own and, if it names `emptyDatabase`, an empty database on the tests' server. */
export const testWithProcess = test.extend<{ sandbox: Sandbox; emptyDatabase: string }>({
  sandbox: withSandbox,
  // oxlint-disable-next-line no-empty-pattern
  emptyDatabase: async ({}, use) => {
    const url = new URL(inject('templateUrl'))
    url.pathname = `test_${randomUUID().replaceAll('-', '')}`
    await withClient((client) => client.query(`CREATE DATABASE ${url.pathname.slice(1)} TEMPLATE template0`))
    await use(url.href).finally(() => dropDatabase(url.href))
  },
})

async function createSandbox(): Promise<Sandbox & { close(): Promise<void> }> {
  const dataDir = await mkdtemp(join(tmpdir(), 'pet-store-cli-'))
  const programs: ReturnType<typeof launch>[] = []
  let closed = false

  function add(program: string, args: string[], env: Env) {
    if (closed) throw new Error('The test is over') // one that timed out may still go on
    const added = launch(program, args, {
      ...GENEROUS_TIMEOUTS,
      DATA_DIR: dataDir,
      PORT: '0',
      HOST: '127.0.0.1',
      ...env,
    })
    programs.push(added)
    return added
  }

  async function postgresPid() {
    const file = await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').catch(() => undefined)
    return file === undefined ? undefined : Number.parseInt(file, 10)
  }

  return {
    dataDir,
    postgresPid,
    run: (program, args = [], env = {}) => add(program, args, env).ended,
    async start(env = {}) {
      const program = add('main.js', [], env)
      const last = env.DATABASE_URL ? '"msg":"listening"' : 'Press Ctrl-C to stop.'
      const printed = await program.until((text) => text.includes(last) && /"port":\d+/.test(text))
      const port = Number(/"port":(\d+)/.exec(printed)?.[1])
      return { base: `http://127.0.0.1:${port}`, port, printed, until: program.until, signal: program.signal }
    },
    async close() {
      closed = true
      await Promise.all(programs.map((program) => program.signal('SIGKILL')))
      const pid = await postgresPid()
      if (pid && kill(pid, 'SIGQUIT')) {
        // What it still writes would be in the way of the removal; one that hangs gets no mercy.
        const gone = async () => (await postgresPid()) === undefined
        await waitUntil(gone).catch(() => kill(pid, 'SIGKILL'))
      }
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/** Starts a program of dist/ with this environment and no other, and collects what it prints. */
function launch(program: string, args: string[], env: Env) {
  const file = fileURLToPath(new URL(`../../dist/${program}`, import.meta.url))
  const child = spawn(process.execPath, [file, ...args], {
    cwd: tmpdir(), // far from the project: nothing may depend on where it is started
    env: { PATH: process.env.PATH ?? '', ...env }, // the PATH leads to setpriv
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a process group of its own
  })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  child.on('error', (error) => (stderr += error.message)) // it could not be started, which ends it too
  const ended = new Promise<ProgramResult>((resolve) => {
    child.once('close', (code) => {
      keepOutput(withoutTheKey(stdout) + stderr)
      resolve({ code, stdout, stderr })
    })
  })
  return {
    ended,
    /** @returns what it has printed as soon as that is enough; rejects when it ends before */
    until(enough: (printed: string) => boolean): Promise<string> {
      return new Promise((resolve, reject) => {
        if (enough(stdout)) resolve(stdout)
        child.stdout.on('data', () => enough(stdout) && resolve(stdout))
        void ended.then((how) => reject(new Error(`It ended too early: ${JSON.stringify(how)}`)))
      })
    },
    signal(name: NodeJS.Signals): Promise<ProgramResult> {
      if (child.pid && child.exitCode === null && child.signalCode === null) kill(-child.pid, name)
      return ended
    },
  }
}

/** Removes the one key that is printed on purpose: alone by the keys command, or in the link of the startup banner. */
function withoutTheKey(stdout: string): string {
  return stdout.replace(/(?<=^)pets_[0-9a-z]{57}(?=\n$)|(?<=\/graphql#key=)pets_[0-9a-z]{57}(?=\n)/, (key) => {
    keepKey(key)
    return ''
  })
}

/** @returns whether there was such a process, or process group when the number is negative; signal 0 only looks */
export function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** Takes a free port of the loopback interface. */
export function occupyPort(): Promise<{ server: Server; port: number }> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo // a TCP server that listens has one
      resolve({ server, port })
    })
  })
}

/** A TCP port that is free on the loopback interface now. */
export async function freePort(): Promise<number> {
  const { server, port } = await occupyPort()
  await new Promise((closed) => server.close(closed))
  return port
}

/** The address of a database on a port where nothing listens. */
export async function unreachableDatabaseUrl(): Promise<string> {
  return `postgresql://postgres:secret@127.0.0.1:${await freePort()}/postgres`
}
