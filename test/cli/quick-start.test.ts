import { expect } from 'vitest'
import { codeIn } from '../support/files.ts'
import { testWithProcess as test } from '../support/processes.ts'
import { hasCurl, runShell, whyNoCurl } from '../support/shell.ts'

test.skipIf(!hasCurl)(`the commands of the quick start work on a first start${whyNoCurl}`, async ({ sandbox }) => {
  const commands = codeIn('README.md').find((code) => code.startsWith('KEY=')) ?? ''
  const { base } = await sandbox.startEmpty()
  const script = commands.replaceAll('http://localhost:4000', base).replaceAll('.data', sandbox.dataDir)
  const [listed, created, queried] = await runShell(script)
  expect(listed).toHaveLength(3)
  expect(listed).toContainEqual(expect.objectContaining({ status: 'available' }))
  expect(created).toMatchObject({ id: expect.any(Number), name: 'Rex' })
  expect(queried).toMatchObject({ data: { pets: { nodes: [{ name: 'Rex' }, {}, {}] } } })
})
