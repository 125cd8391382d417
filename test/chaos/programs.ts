import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readdirSync } from 'node:fs'
import { chown, mkdir, mkdtemp, readFile, realpath } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { NOBODY } from '../../src/database/postgres-programs.ts'
import type { Defer } from './assertions.ts'

const killProcesses = fileURLToPath(new URL('kill-processes.mjs', import.meta.url))

/** PostgreSQL and PgBouncer refuse to run as root. */
const user = process.getuid?.() === 0 ? NOBODY : undefined

const DEBIAN_POSTGRES = '/usr/lib/postgresql'

/** The programs of the newest PostgreSQL that Debian's packages have installed; undefined if there is none. */
export const postgresBin = findPostgres()

const env = { PATH: [process.env.PATH, '/usr/sbin', postgresBin].join(':'), LC_ALL: 'C.UTF-8', PYTHONUNBUFFERED: '1' }

function findPostgres(): string | undefined {
  try {
    const versions = readdirSync(DEBIAN_POSTGRES).map(Number)
    return join(DEBIAN_POSTGRES, String(Math.max(...versions)), 'bin')
  } catch {
    return undefined
  }
}

/** @returns the programs that are not installed */
export function findMissing(programs: string[]): string[] {
  return programs.filter((program) => spawnSync(program, ['--version'], { env }).error)
}

/** @returns what a program prints about its version; empty if it is not installed */
export function versionOf(program: string): string {
  return spawnSync(program, ['--version'], { env, encoding: 'utf8' }).stdout ?? ''
}

/** A temporary folder in which programs run that are not part of the service. */
export interface ProgramFolder {
  path: string
  /** Creates the folder of a program. */
  add(name: string): Promise<string>
  /** Starts a program in its folder, to whose file `log` it writes. */
  start(name: string, program: string, args: string[]): ChildProcess
  /** Runs a program in a folder until it exits. @throws execFile's error */
  run(name: string, program: string, args: string[]): Promise<void>
  /** Kills a program with SIGKILL, and all processes that run in its folder. */
  kill(name: string): Promise<void>
  /** What a program has written so far. */
  log(name: string): Promise<string>
}

/** Creates the folder. It is removed and its processes are killed when the part is finished, or this process ends. */
export async function createProgramFolder(defer: Defer): Promise<ProgramFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), 'pet-store-programs-')))
  const guard = spawn(process.execPath, [killProcesses, path, '--at-end'], {
    stdio: ['pipe', 'ignore', 'inherit'],
    detached: true, // Ctrl-C does not reach it
  })
  const cleaned = once(guard, 'exit')
  defer(async () => {
    guard.stdin.end()
    await cleaned
  })
  if (user) await chown(path, user.uid, user.gid)

  return {
    path,
    async add(name) {
      await mkdir(join(path, name))
      if (user) await chown(join(path, name), user.uid, user.gid)
      return join(path, name)
    },
    start(name, program, args) {
      const log = openSync(join(path, name, 'log'), 'a')
      const stdio: ['ignore', number, number] = ['ignore', log, log]
      const child = spawn(program, args, { cwd: join(path, name), env: { ...env, HOME: path }, stdio, ...user })
      child.on('error', (error) => console.error(`${program}: ${error.message}`))
      child.on('exit', (code) => code && console.error(`${program} has exited with code ${code}.`))
      closeSync(log)
      return child
    },
    async run(name, program, args) {
      await promisify(execFile)(program, args, { cwd: join(path, name), env: { ...env, HOME: path }, ...user })
    },
    async kill(name) {
      await promisify(execFile)(process.execPath, [killProcesses, join(path, name)])
    },
    log: (name) => readFile(join(path, name, 'log'), 'utf8'),
  }
}

/** Tries until the result is truthy; errors count as failures. For programs that emit no events to other processes. */
export async function poll<T>(attempt: () => Promise<T | false | undefined>, intervalMs = 50): Promise<T> {
  for (;;) {
    const result = await attempt().catch(() => undefined)
    if (result) return result
    await sleep(intervalMs)
  }
}
