import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect } from 'vitest'
import { testWithProcess as test } from '../support/processes.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

const hasCurl = !spawnSync('curl', ['--version']).error

test.skipIf(!hasCurl)(
  `the commands of the quick start work on a first start${hasCurl ? '' : ' (there is no curl on the PATH)'}`,
  async ({ sandbox }) => {
    const commands = /```sh\n(KEY=[^]*?)```/.exec(readme)?.[1] ?? ''
    const { base } = await sandbox.startEmpty()
    const script = commands.replaceAll('http://localhost:4000', base).replaceAll('.data', sandbox.dataDir)
    const [listed, created, queried] = await runShell(script)
    expect(listed).toHaveLength(3)
    expect(listed).toContainEqual(expect.objectContaining({ status: 'available' }))
    expect(created).toMatchObject({ id: expect.any(Number), name: 'Rex' })
    expect(queried).toMatchObject({ data: { pets: { nodes: [{ name: 'Rex' }, {}, {}] } } })
  },
)

/** @returns the body of each curl command's response, as JSON; rejects if a command fails or a status is 400 or above */
async function runShell(script: string): Promise<unknown[]> {
  const curl = 'curl() { command curl --silent --show-error --fail "$@" && echo; }'
  const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', `${curl}\n${script}`])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown) // bodies have no line breaks
}
