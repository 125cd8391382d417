import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** Every line of every service's log, and what programs print besides the keys that they are asked for. */
    outputFile: string
    /** Every key that was made in the run, one a line. */
    keysFile: string
  }
}

/** What a key looks like; nothing of this shape belongs into a log, whether it is one or not. */
const keyShape = /pets_[0-9a-z]{57}/gi

/** Searches all that was printed in the test run for keys when it is over. One that is found fails the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await mkdtemp(join(tmpdir(), 'pet-store-output-'))
  const [outputFile, keysFile] = [join(dir, 'output'), join(dir, 'keys')]
  await Promise.all([writeFile(outputFile, ''), writeFile(keysFile, '')])
  project.provide('outputFile', outputFile)
  project.provide('keysFile', keysFile)
  return async () => {
    const output = await readFile(outputFile, 'utf8')
    const keys = (await readFile(keysFile, 'utf8')).split('\n').filter(Boolean)
    await rm(dir, { recursive: true })
    // Also the secret part alone, wherever it got its `pets_` lost or its checksum cut off.
    const secrets = keys.map((key) => key.slice(13, 55)).filter((secret) => output.includes(secret))
    const leaks = [...new Set([...(output.match(keyShape) ?? []), ...secrets])]
    if (!leaks.length) return
    const places = output.split('\n').filter((line) => leaks.some((leak) => line.includes(leak)))
    console.error(`Keys were printed in this run:\n${places.slice(0, 10).join('\n')}`)
    process.exitCode = 1 // what is thrown here Vitest tells, but does not fail for
  }
}
