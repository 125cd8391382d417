import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { collectLog } from '../support/output.ts'
import { waitUntil } from '../support/timeouts.ts'
import { keyPrefix, mintKey } from '../../src/auth/api-keys.ts'
import { createLogger, createThrottledLog } from '../../src/telemetry/logger.ts'

/** The logger as a module for other programs, below dist/, which git ignores. */
const module = new URL(`../../dist/test-logger-${randomUUID()}.mjs`, import.meta.url)

beforeAll(async () => {
  const logger = await rolldown({ input: 'src/telemetry/logger.ts', platform: 'node' })
  await logger.write({ file: fileURLToPath(module) })
  await logger.close()
})

afterAll(() => rmSync(module))

/** Runs a program in which `log` writes to stdout. @returns what it wrote */
function run(program: string): string {
  const text = `import { createLogger } from '${module.href}'\nconst log = createLogger('info')\n${program}`
  return spawnSync(process.execPath, ['--input-type=module', '-e', text], { encoding: 'utf8', timeout: 30_000 }).stdout
}

const messagesIn = (text: string) => [...text.matchAll(/"msg":"(.*)"/g)].map(([, message]) => message)

test.for(['process.exit(0)', "throw new Error('x')", ''])('no line is lost when the process ends: %s', (end) => {
  expect(messagesIn(run(`for (const text of '123') log.info(text); ${end}`))).toEqual(['1', '2', '3'])
})

test('of an API key that a line contains, only the prefix is printed', () => {
  const keys = [mintKey(), mintKey().toUpperCase()]
  const lines = run(keys.map((key) => `log.info('${key}')`).join('\n'))
  expect(messagesIn(lines)).toEqual(keys.map((key) => `${keyPrefix(key)}…`))
})

test('a line about repetitions has the message and the details of the same event', async () => {
  const { lines, ...log } = collectLog()
  const warn = createThrottledLog(createLogger('info', log), 1)
  for (const n of [1, 2, 3]) warn(`event ${n}`, { n }, 'key')
  await waitUntil(() => lines.length > 1)
  expect(lines).toMatchObject([
    { n: 1, count: 1, msg: 'event 1' },
    { n: 3, count: 2, msg: 'event 3' },
  ])
})

test('what clients repeat under more than 1,000 keys of their choice takes 1,001 lines', () => {
  const { lines, ...log } = collectLog()
  const warn = createThrottledLog(createLogger('info', log), 60_000)
  for (let n = 0; n < 5_000; n++) warn('rejected', {}, `client ${n}`)
  expect(lines).toHaveLength(1_001)
})
