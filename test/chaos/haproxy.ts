import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../support/processes.ts'
import type { Defer } from './assertions.ts'

/** Whether HAProxy is installed (Debian: apt-get install haproxy). */
export const hasHaproxy = spawnSync('haproxy', ['-v']).status === 0

export interface LoadBalancer {
  port: number
  /** Waits until HAProxy sends requests to the instance on this port. */
  up(port: number): Promise<void>
}

/** Starts HAProxy in front of instances on these ports, with the settings of docs/deployment.md. */
export async function startHaproxy(defer: Defer, ports: number[]): Promise<LoadBalancer> {
  const dir = await mkdtemp(join(tmpdir(), 'pet-store-haproxy-'))
  const [port, file, control] = [await freePort(), join(dir, 'config'), join(dir, 'control')]
  await writeFile(file, toConfig(port, control, ports))
  const child = spawn('haproxy', ['-db', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = once(child, 'exit')
  defer(async () => {
    child.kill('SIGKILL')
    await exited
    await rm(dir, { recursive: true, force: true })
  })

  async function up(instance: number): Promise<void> {
    while (!new RegExp(`^pets,i${instance},.*,UP,`, 'm').test(await readStats(control))) {
      if (child.exitCode !== null) throw new Error(`HAProxy exited: ${stderr}`)
      await sleep(20) // HAProxy emits no event when a health check succeeds
    }
  }
  for (const instance of ports) await up(instance)
  return { port, up }
}

/** The section "backend" equals that of docs/deployment.md. */
const toConfig = (port: number, control: string, ports: number[]) => `
global
  stats socket ${control}
defaults
  mode http
  timeout connect 1s
  timeout client 75s
  timeout server 30s
frontend front
  bind 127.0.0.1:${port}
  default_backend pets
backend pets
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host pets
  timeout check 3s
  default-server check inter 500ms fall 2 rise 1
${ports.map((instance) => `  server i${instance} 127.0.0.1:${instance}`).join('\n')}
`

/** @returns the state of the servers from the control socket, empty if HAProxy has not created the socket yet */
async function readStats(control: string): Promise<string> {
  const socket = connect(control).setEncoding('utf8')
  let stats = ''
  socket.on('data', (text: string) => (stats += text)).on('error', () => {})
  socket.write('show stat\n')
  await once(socket, 'close').catch(() => {})
  return stats
}
