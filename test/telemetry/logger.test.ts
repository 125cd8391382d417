import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { bufferedStream } from '../../src/telemetry/logger.ts'

test('lines that come together are written together, in their order', async () => {
  const written: string[] = []
  const output = bufferedStream({ write: (text) => void written.push(text) })
  output.write('a\n')
  await sleep(0)
  output.write('b\n')
  expect(written).toEqual([])
  await sleep(50)
  expect(written).toEqual(['a\nb\n'])
  output.write('c\n')
  await sleep(50)
  expect(written).toEqual(['a\nb\n', 'c\n'])
})

test.for(['process.exit(0)', "setTimeout(() => { throw new Error('x') })", ''])(
  'nothing is lost at the end: %s',
  (end) => {
    const module = new URL('../../dist/telemetry/logger.js', import.meta.url).href
    const program = `import { bufferedStream } from '${module}'
    bufferedStream({ write: (text) => process.stdout.write(text) }).write('last'); ${end}`
    let printed: string
    try {
      printed = execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        encoding: 'utf8',
        stdio: 'pipe',
      })
    } catch (error) {
      printed = (error as { stdout: string }).stdout // of execFileSync
    }
    expect(printed).toBe('last')
  },
)
