import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Defer } from '../chaos/assertions.ts'
import { createProgramFolder, poll, type ProgramFolder } from '../chaos/programs.ts'
import { freePort } from './processes.ts'
import { findProgram } from './shell.ts'

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
    servers: /(?:^ +server i\d 127\.0\.0\.1:400\d\n)+/gm,
    toServers: (hosts) => hosts.map((host, n) => `  server i${n} ${host}\n`).join(''),
    complete: (settings) => settings.replace(/^ +(user|group) .*$/gm, ''), // only root can change its user
    toArguments: (file) => ['-db', '-f', file],
  },
  nginx: {
    settings: 'nginx.conf',
    servers: /(?:^ +server 127\.0\.0\.1:400\d(.*);\n)+/gm,
    toServers: (hosts) => hosts.map((host) => `server ${host}$1;\n`).join(''),
    complete: (settings, folder) => {
      // nginx creates the folder of each kind when it starts, even if no request uses it.
      const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
        (kind) => `${kind}_temp_path ${folder}/${kind};`,
      )
      const toTest = `access_log off; ${paths.join(' ')}`
      return `daemon off; pid ${folder}/pid;\n${settings}`.replace(/access_log .*/, toTest)
    },
    toArguments: (file, folder) => ['-p', folder, '-e', 'stderr', '-c', file],
  },
}

/** The proxies whose settings are in deploy/, and whether each is installed. */
export const proxyPrograms = Object.keys(programs).map((name) => ({ name, ...findProgram(name, '-v') }))

/**
 * Starts a proxy in front of instances, with its settings in deploy/ and other addresses.
 * @param timeoutSeconds how long it waits for data, instead of the time in the file
 */
export async function startProxyProgram(defer: Defer, name: string, ports: number[], timeoutSeconds = 75) {
  const program = programs[name]
  if (!program) throw new Error(`${name} is unknown`)
  const folder = await createProgramFolder(defer)
  const [port, path] = [await freePort(), await folder.add(name)]
  const file = join(path, 'config')
  const deployed = await readFile(new URL(`../../deploy/${program.settings}`, import.meta.url), 'utf8')
  const settings = deployed
    .replace(/(?<=(?:bind|listen) ):?8080/, `127.0.0.1:${port}`)
    .replace(program.servers, program.toServers(ports.map((instance) => `127.0.0.1:${instance}`)))
    .replaceAll('75s', `${timeoutSeconds}s`)
  await writeFile(file, program.complete(settings, path))
  await startListening(folder, name, program.toArguments(file, path), port)
  return { port, log: () => folder.log(name) }
}

/** Starts a program in its folder, and waits until it listens. */
export async function startListening(folder: ProgramFolder, name: string, args: string[], port: number) {
  const child = folder.start(name, name, args)
  await poll(async () => child.exitCode !== null || (await accepts(port)))
  if (child.exitCode !== null) throw new Error(`${name} has exited: ${await folder.log(name)}`)
  return child
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const accepted = await once(socket, 'connect').catch(() => undefined)
  socket.destroy()
  return accepted !== undefined
}
