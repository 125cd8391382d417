import { readFileSync } from 'node:fs'
import { expect } from 'vitest'
import { testWithProcess as test } from '../support/processes.ts'
import { hasCurl, runShell, whyNoCurl } from '../support/shell.ts'

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')

test.skipIf(!hasCurl)(`the commands of the quick start work on a first start${whyNoCurl}`, async ({ sandbox }) => {
  const commands = /```sh\n(KEY=[^]*?)```/.exec(readme)?.[1] ?? ''
  const { base } = await sandbox.startEmpty()
  const script = commands.replaceAll('http://localhost:4000', base).replaceAll('.data', sandbox.dataDir)
  const [listed, created, queried] = await runShell(script)
  expect(listed).toHaveLength(3)
  expect(listed).toContainEqual(expect.objectContaining({ status: 'available' }))
  expect(created).toMatchObject({ id: expect.any(Number), name: 'Rex' })
  expect(queried).toMatchObject({ data: { pets: { nodes: [{ name: 'Rex' }, {}, {}] } } })
})
