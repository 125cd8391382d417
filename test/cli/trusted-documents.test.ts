import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { testWithProcess as test } from '../support/processes.ts'

describe('the trusted-documents command', { concurrent: true }, () => {
  test('writes the manifest to a file', async ({ sandbox }) => {
    const [folder, out] = [join(sandbox.dataDir, 'queries'), join(sandbox.dataDir, 'manifest.json')]
    mkdirSync(join(folder, 'sub'), { recursive: true })
    writeFileSync(join(folder, 'sub/a.gql'), '{ __typename }')
    const result = await sandbox.run('cli/trusted-documents.js', [folder, '--out', out])
    expect(result).toEqual({ code: 0, stdout: '', stderr: '1 operation(s) from 1 file(s).\n' })
  })

  test('names file, line and column of a bad document', async ({ sandbox }) => {
    const file = join(sandbox.dataDir, 'a.graphql')
    writeFileSync(file, '# a comment\nquery A {\n  pets {')
    const { code, stderr } = await sandbox.run('cli/trusted-documents.js', [sandbox.dataDir])
    expect({ code, stderr }).toEqual({ code: 1, stderr: `${file}:3:9: Syntax Error: Expected Name, found <EOF>.\n` })
  })

  test('names a missing folder, a missing folder of --out and a file that cannot be written in one line', async ({
    sandbox: { dataDir, run },
  }) => {
    writeFileSync(join(dataDir, 'a.graphql'), '{ __typename }')
    const problems: [string[], string][] = [
      [[`${dataDir}/none`], `The folder ${dataDir}/none does not exist.\n`],
      [[`${dataDir}/a.graphql`], `${dataDir}/a.graphql is not a folder.\n`],
      [[dataDir, '--out', `${dataDir}/none/x.json`], `--out: The folder ${dataDir}/none does not exist.\n`],
      [
        [dataDir, '--out', dataDir],
        `--out: ${dataDir} cannot be written: EISDIR: illegal operation on a directory, open '${dataDir}'\n`,
      ],
    ]
    for (const [args, stderr] of problems)
      expect(await run('cli/trusted-documents.js', args)).toEqual({ code: 1, stdout: '', stderr })
  })
})
