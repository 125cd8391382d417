import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Limits } from '../../src/config/limits.ts'
import { freePort, INHERITED } from '../support/processes.ts'
import { GENEROUS_TIMEOUTS } from '../support/timeouts.ts'
import type { Defer } from './assertions.ts'

/** The folder of today's build. */
export const today = fileURLToPath(new URL('../../', import.meta.url))

/** For parts without database faults: no request is shed or times out because the machine is busy. */
export const PATIENT = {
  ...GENEROUS_TIMEOUTS,
  limits: { shedLagMs: 600_000, shedQueueMs: 600_000, turnWaitMs: 600_000, verifyTimeoutMs: 60_000 },
}

/** As PATIENT, for version 1.1.0, which has variables instead. */
const VERSION_1_LIMITS = {
  SHED_DELAY_MS: '0',
  SHED_QUEUE_MS: '0',
  DATABASE_LOCK_TIMEOUT_MS: '20000',
  DATABASE_STATEMENT_TIMEOUT_MS: '40000',
  DATABASE_QUERY_TIMEOUT_MS: '60000',
  DATABASE_CHECKOUT_TIMEOUT_MS: '20000',
}

/** Less than the time of a test, in milliseconds, so that a start that never ends is described. */
const READY_TIMEOUT_MS = 100_000

/** After this time, in milliseconds, a probe is sent again, as load balancers do. */
const PROBE_TIMEOUT_MS = 20_000

/** The built service as a process. */
export interface Instance {
  port: number
  pid: number
  /** Whether the process is still running. */
  alive(): boolean
  /** Sends a signal and waits until the process exits. @returns the exit code, or null if the signal killed it */
  stop(signal: NodeJS.Signals): Promise<number | null>
  /** Resident memory in MB. */
  residentMb(): Promise<number>
  /** Its output so far. */
  output(): Promise<string>
}

type InstanceOptions = {
  DATABASE_URL: string
  port?: number
  waitFor?: string
  /** The folder of another build, which has the limits of that build. */
  build?: string
  limits?: Partial<Limits>
} & Record<string, string | number | Partial<Limits>>

/** Starts the service and waits until the path `waitFor` is 200. It is killed when the part is finished. */
export async function startInstance(
  defer: Defer,
  { waitFor = '/readyz', build = today, port, limits = {}, ...env }: InstanceOptions,
): Promise<Instance> {
  const dir = await mkdtemp(join(tmpdir(), 'pet-store-instance-'))
  const logFile = join(dir, 'log')
  const actualPort = port ?? (await freePort())
  const log = openSync(logFile, 'a')
  const withLimits = join(build, 'dist/test/service.js')
  const child = spawn(process.execPath, [existsSync(withLimits) ? withLimits : join(build, 'dist/main.js')], {
    cwd: dir,
    env: {
      ...INHERITED,
      LOG_LEVEL: 'warn',
      RATE_LIMIT_POINTS: '0',
      HOST: '127.0.0.1',
      PORT: String(actualPort),
      TEST_LIMITS: JSON.stringify(limits),
      ...(!existsSync(withLimits) && VERSION_1_LIMITS),
      ...toStrings(env as Record<string, string | number>), // without `limits`
    },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const exited = once(child, 'exit')
  const alive = () => child.exitCode === null && child.signalCode === null
  defer(async () => {
    if (alive()) child.kill('SIGKILL')
    await exited
    await rm(dir, { recursive: true, force: true })
  })
  const output = () => readFile(logFile, 'utf8')
  await waitForReady(child, `http://127.0.0.1:${actualPort}${waitFor}`, output)
  const pid = child.pid ?? Number.NaN

  return {
    port: actualPort,
    pid,
    alive,
    output,
    async stop(signal) {
      child.kill(signal)
      await exited
      return child.exitCode
    },
    async residentMb() {
      const status = await readFile(`/proc/${pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
    },
  }
}

/** Waits until a URL is 200. @throws Error with the output of the process if it exits before, or is never ready */
async function waitForReady(child: ChildProcess, url: string, output: () => Promise<string>): Promise<void> {
  const startedAt = performance.now()
  let last = 'no response'
  for (;;) {
    try {
      const response = await fetch(url, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) })
      last = `${response.status} ${await response.text()}`
      if (response.ok) return
    } catch (error) {
      last = String(error)
    }
    const exited = child.exitCode !== null || child.signalCode !== null
    if (exited || performance.now() - startedAt > READY_TIMEOUT_MS)
      throw new Error(`The service ${exited ? 'exited early' : `is not ready (${last})`}: ${await output()}`)
    await sleep(10) // another process, which emits no event when it is ready
  }
}

const toStrings = (env: Record<string, string | number>) =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]))
