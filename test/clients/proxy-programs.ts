import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { freePort } from '../support/processes.ts'
import { waitUntil } from '../support/timeouts.ts'

interface ProxyProgram {
  /** The file in examples/ with the settings. */
  example: string
  /** Adds what a test needs besides the settings. */
  complete(settings: string, folder: string): string
  toArguments(file: string, folder: string): string[]
}

const programs: Record<string, ProxyProgram> = {
  haproxy: {
    example: 'haproxy.cfg',
    complete: (settings) => settings,
    toArguments: (file) => ['-db', '-f', file],
  },
  nginx: {
    example: 'nginx.conf',
    complete: (settings, folder) => `
      daemon off; pid ${folder}/pid; error_log stderr; events {}
      http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; ${settings} }`,
    toArguments: (file, folder) => ['-p', folder, '-e', 'stderr', '-c', file],
  },
}

/** The names of the programs, and whether each is installed. */
export const proxyPrograms = Object.keys(programs).map((name) => ({
  name,
  installed: spawnSync(name, ['-v']).status === 0,
}))

for (const { name, installed } of proxyPrograms)
  if (!installed) console.warn(`No tests behind ${name}: it is not installed (apt-get install ${name}).`)

/** Starts a proxy in front of a service with the settings of its example, for this test. @returns its base URL */
export async function startProxyProgram(name: string, target: string, timeoutSeconds = 30): Promise<string> {
  const program = programs[name]
  if (!program) throw new Error(`${name} is unknown`)
  const folder = await mkdtemp(join(tmpdir(), `${name}-`))
  const [port, file] = [await freePort(), join(folder, 'config')]
  const example = await readFile(new URL(`examples/${program.example}`, import.meta.url), 'utf8')
  const settings = example
    .replace(/(?<=(?:bind|listen) ):?8080/, `127.0.0.1:${port}`)
    .replaceAll(/10\.0\.0\.\d:4000/g, new URL(target).host)
    .replaceAll('30s', `${timeoutSeconds}s`)
  await writeFile(file, program.complete(settings, folder))
  const child = spawn(name, program.toArguments(file, folder), { stdio: ['ignore', 'ignore', 'pipe'] })
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await exited
    await rm(folder, { recursive: true, force: true })
  })
  await waitUntil(async () => {
    if (child.exitCode !== null) throw new Error(`${name} has exited: ${stderr}`)
    return accepts(port)
  })
  return `http://127.0.0.1:${port}`
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const accepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return accepted
}
