import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/processes.ts'
import { GENEROUS_TIMEOUTS } from '../support/timeouts.ts'
import type { Defer } from './assertions.ts'

const program = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

/** For parts in which nothing is wrong with the database: a busy machine is no fault of the service. */
export const UNHURRIED = { ...GENEROUS_TIMEOUTS, SHED_DELAY_MS: 0, SHED_QUEUE_MS: 0 }

/** The built service as a process. */
export interface Instance {
  port: number
  pid: number
  /** Whether it runs still, and was never started anew. */
  alive(): boolean
  /** Sends a signal and waits for the end. @returns the exit code, null when the signal ended it */
  end(signal: NodeJS.Signals): Promise<number | null>
  /** Memory that it holds, in MB. */
  residentMb(): Promise<number>
  /** All that it has printed. */
  printed(): Promise<string>
}

/** Starts the service and waits until it answers here with 200. It is killed at the latest when the part is over. */
export async function startInstance(
  defer: Defer,
  {
    waitFor = '/readyz',
    port,
    ...env
  }: { DATABASE_URL: string; port?: number; waitFor?: string } & Record<string, string | number>,
): Promise<Instance> {
  const dir = await mkdtemp(join(tmpdir(), 'pet-store-instance-'))
  const logFile = join(dir, 'log')
  const onPort = port ?? (await freePort())
  const log = openSync(logFile, 'a')
  const child = spawn(process.execPath, [program], {
    cwd: dir,
    env: {
      PATH: process.env.PATH ?? '',
      LOG_LEVEL: 'warn',
      RATE_LIMIT_POINTS: '0',
      HOST: '127.0.0.1',
      PORT: String(onPort),
      ...texts(env),
    },
    stdio: ['ignore', log, log],
  })
  closeSync(log)
  const ended = once(child, 'exit')
  const alive = () => child.exitCode === null && child.signalCode === null
  defer(async () => {
    if (alive()) child.kill('SIGKILL')
    await ended
    await rm(dir, { recursive: true, force: true })
  })
  const printed = () => readFile(logFile, 'utf8')
  await waitForReady(child, `http://127.0.0.1:${onPort}${waitFor}`, printed)
  const pid = child.pid ?? Number.NaN

  return {
    port: onPort,
    pid,
    alive,
    printed,
    async end(signal) {
      child.kill(signal)
      await ended
      return child.exitCode
    },
    async residentMb() {
      const status = await readFile(`/proc/${pid}/status`, 'utf8')
      return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1_024
    },
  }
}

/** Until an address answers 200. @throws Error with what the program printed when it ends before */
async function waitForReady(child: ChildProcess, address: string, printed: () => Promise<string>): Promise<void> {
  for (;;) {
    const response = await fetch(address).catch(() => undefined)
    await response?.arrayBuffer()
    if (response?.status === 200) return
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`It ended early: ${await printed()}`)
    await sleep(10) // it is another process: that it listens is no event here
  }
}

const texts = (env: Record<string, string | number>) =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, String(value)]))
