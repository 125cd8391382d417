import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  export interface ProvidedContext {
    /** A file with the logs of all services and the output of all programs, except keys that they print on purpose. */
    outputFile: string
    /** A file with every key that was created in the run, one per line. */
    keysFile: string
  }
}

/** The format of a key. No log may contain it, even if the key does not exist. */
const KEY_PATTERN = /pets_[0-9a-z]{57}/gi

/** After the test run, searches all recorded output for keys. A leaked key fails the run. */
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
    // Also finds keys without their prefix or their checksum.
    const secrets = keys.map((key) => key.slice(13, 55)).filter((secret) => output.includes(secret))
    const leaks = [...new Set([...(output.match(KEY_PATTERN) ?? []), ...secrets])]
    if (!leaks.length) return
    const lines = output.split('\n').filter((line) => leaks.some((leak) => line.includes(leak)))
    console.error(`Keys were printed in this run:\n${lines.slice(0, 10).join('\n')}`)
    process.exitCode = 1 // Vitest only prints an error that is thrown here; it does not fail the run
  }
}
