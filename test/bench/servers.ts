import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Cleanup } from './cleanup.ts'
import type { Postgres } from './database.ts'
import { coresFor } from './paths.ts'
import { usageOf, type Usage } from './usage.ts'
import type { Variant } from './variants.ts'

/** A running process of a variant. */
export interface Server {
  name: string
  variant: Variant
  base: string
  port: number
  key: string
  databaseUrl: string
  usage(): Usage | undefined
  stop(): Promise<void>
}

const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 5_000

/** Starts a variant on its CPU core, and waits until it responds. */
export async function startServer(
  variant: Variant,
  { key }: Postgres,
  databaseUrl: string,
  cleanup: Cleanup,
): Promise<Server> {
  const port = await freePort()
  const child = launch(variant, {
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: String(port),
    DATABASE_URL: databaseUrl,
    DATABASE_POOL_SIZE: '10',
    RATE_LIMIT_POINTS: '0',
    BENCH_KEY: key,
    ...variant.env,
  })
  const { pid } = child
  if (!pid) throw new Error(`${variant.name} cannot be started`)
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    const mercy = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await once(child, 'exit')
    clearTimeout(mercy)
  }
  cleanup.add(stop)
  const base = `http://127.0.0.1:${port}`
  await waitForResponse(variant, child, base)
  return { name: variant.name, variant, base, port, key, databaseUrl, usage: () => usageOf(pid), stop }
}

/** The access log is written, to where it costs the disk nothing. */
function launch({ program = process.execPath, args }: Variant, env: Record<string, string>): ChildProcess {
  const pinned = coresFor()
  const [command = program, ...rest] = [...(pinned ? ['taskset', '-c', pinned.server] : []), program, ...args]
  return spawn(command, rest, { env: { PATH: process.env.PATH ?? '', ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Waits for any answer at all; what it is worth is checked later. */
async function waitForResponse({ name }: Variant, child: ChildProcess, base: string): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS
  for (;;) {
    const status = await fetch(base, { signal: AbortSignal.timeout(1_000) }).then(
      (response) => response.status,
      () => undefined,
    )
    if (status !== undefined) return
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${name} does not start`)
    await sleep(100)
  }
}

/** A TCP port that is free on the loopback interface now. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo // a TCP server that listens has one
  server.close()
  await once(server, 'close')
  return port
}
