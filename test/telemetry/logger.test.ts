import { spawn, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'

/** The logger as a module for other programs, below dist/, which git ignores. */
const module = new URL(`../../dist/test-logger-${randomUUID()}.mjs`, import.meta.url)

beforeAll(async () => {
  const logger = await rolldown({ input: 'src/telemetry/logger.ts', platform: 'node' })
  await logger.write({ file: fileURLToPath(module) })
  await logger.close()
})

afterAll(() => rmSync(module))

/** The arguments of Node for a program in which `log` writes to stdout. */
function argumentsFor(program: string): string[] {
  const text = `import { createLogger } from '${module.href}'\nconst log = createLogger('info')\n${program}`
  return ['--input-type=module', '-e', text]
}

/** @returns what the program wrote */
function run(program: string): string {
  return spawnSync(process.execPath, argumentsFor(program), { encoding: 'utf8', timeout: 30_000 }).stdout
}

const messagesIn = (text: string) => [...text.matchAll(/"msg":"(.*)"/g)].map(([, message]) => message)

test.for(['process.exit(0)', "throw new Error('x')", ''])('no line is lost when the process ends: %s', (end) => {
  expect(messagesIn(run(`for (const text of ['one', 'two', 'three']) log.info(text); ${end}`))).toEqual([
    'one',
    'two',
    'three',
  ])
})

test('a process that logs its last line when the reader of its log has gone exits with its own code', async () => {
  const program = `
    import fs from 'node:fs'
    try { for (;;) fs.writeSync(1, 'x') } catch { log.info('last') }
    process.exit(7)`
  const child = spawn(process.execPath, argumentsFor(program), { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stdout.destroy()
  expect(await once(child, 'exit')).toEqual([7, null])
})

test('a line about repetitions has the message and the details of the same event', () => {
  const lines = run(`
    import { createThrottledLog } from '${module.href}'
    const warn = createThrottledLog(log, 1)
    for (const n of [1, 2, 3]) warn('event ' + n, { n }, 'key')
    setTimeout(() => {}, 50)`)
  expect([...lines.matchAll(/"n":(\d),"count":(\d),"msg":"(.*)"/g)].map(([, ...match]) => match)).toEqual([
    ['1', '1', 'event 1'],
    ['3', '2', 'event 3'],
  ])
})
