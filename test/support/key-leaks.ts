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

/** A key, even one that does not exist, an access token or its payload, or the subject of a test's token. */
export const SECRET = /pets_[0-9a-z]{57}|eyJ[\w-]{20,}|\w+@people\.example/i

/** After the test run, searches all recorded output for keys, tokens and subjects. A leaked one fails the run. */
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
    const leaks = [...new Set([...(output.match(new RegExp(SECRET, 'gi')) ?? []), ...secrets])]
    if (!leaks.length) return
    const lines = output.split('\n').filter((line) => leaks.some((leak) => line.includes(leak)))
    console.error(`Keys, access tokens or subjects were printed in this run:\n${lines.slice(0, 10).join('\n')}`)
    process.exitCode = 1 // Vitest only prints an error that is thrown here; it does not fail the run
  }
}
