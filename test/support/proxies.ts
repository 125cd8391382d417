import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Defer } from '../chaos/assertions.ts'
import { freePort } from './processes.ts'

interface ProxyProgram {
  /** The file in deploy/ with the settings. */
  settings: string
  /** The lines of that file that name the instances. */
  servers: RegExp
  toServers(hosts: string[]): string
  /** Adds what a test needs besides the settings. */
  complete(settings: string, folder: string): string
  toArguments(file: string, folder: string): string[]
}

const programs: Record<string, ProxyProgram> = {
  haproxy: {
    settings: 'haproxy.cfg',
    servers: /^ +server-template .*$/gm,
    toServers: (hosts) => hosts.map((host, n) => `  server i${n} ${host}`).join('\n'),
    complete: (settings) => settings,
    toArguments: (file) => ['-db', '-f', file],
  },
  nginx: {
    settings: 'nginx.conf',
    servers: /^ +server 10\.0\.0\.1:4000(.*);\n +server 10\.0\.0\.2:4000.*$/gm,
    toServers: (hosts) => hosts.map((host) => `server ${host}$1;`).join('\n'),
    complete: (settings, folder) =>
      `daemon off; pid ${folder}/pid;\n${settings}`.replace(
        /access_log .*/,
        `access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;`,
      ),
    toArguments: (file, folder) => ['-p', folder, '-e', 'stderr', '-c', file],
  },
}

export type RunningProxy = Awaited<ReturnType<typeof startProxyProgram>>

/** The proxies whose settings are in deploy/, and whether each is installed. */
export const proxyPrograms = Object.keys(programs).map((name) => ({
  name,
  installed: spawnSync(name, ['-v']).status === 0,
}))

/**
 * Starts a proxy in front of instances, with its settings in deploy/ and other addresses.
 * @param timeoutSeconds how long it waits for data, instead of the time in the file
 */
export async function startProxyProgram(defer: Defer, name: string, ports: number[], timeoutSeconds = 75) {
  const program = programs[name]
  if (!program) throw new Error(`${name} is unknown`)
  const folder = await mkdtemp(join(tmpdir(), `${name}-`))
  const [port, file] = [await freePort(), join(folder, 'config')]
  const deployed = await readFile(new URL(`../../deploy/${program.settings}`, import.meta.url), 'utf8')
  const toSettings = (hosts: string[]) =>
    deployed
      .replace(/(?<=(?:bind|listen) ):?8080/, `127.0.0.1:${port}`)
      .replace(program.servers, program.toServers(hosts))
      .replaceAll('75s', `${timeoutSeconds}s`)
  await writeFile(file, program.complete(toSettings(ports.map((instance) => `127.0.0.1:${instance}`)), folder))
  const child = spawn(name, program.toArguments(file, folder), { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = once(child, 'exit')
  defer(async () => {
    child.kill('SIGTERM')
    await exited
    await rm(folder, { recursive: true, force: true })
  })
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${name} has exited: ${stderr}`)
    await sleep(10) // another process, which emits no event when it listens
  }
  return {
    port,
    /** What it has written to stderr so far. */
    stderr: () => stderr,
    /** Before and after the restart of an instance: sends new requests to the instances on these ports only. */
    async balance(others: number[]) {
      if (name !== 'nginx') return // HAProxy checks /readyz
      const hosts = ports.map((instance) => `127.0.0.1:${instance}${others.includes(instance) ? '' : ' down'}`)
      await writeFile(file, program.complete(toSettings(hosts), folder))
      child.kill('SIGHUP') // nginx -s reload
    },
  }
}

/** Whether a program listens on a port. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const accepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return accepted
}
