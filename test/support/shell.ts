import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

export const hasCurl = !spawnSync('curl', ['--version']).error

/** A suffix for the titles of tests that run curl: the reason if they are skipped. */
export const whyNoCurl = hasCurl ? '' : ' (there is no curl on the PATH)'

/** @returns the body of each curl command's response, as JSON; rejects if a command fails or a status is 400 or above */
export async function runShell(script: string): Promise<unknown[]> {
  const curl = 'curl() { command curl --silent --show-error --fail "$@" && echo; }'
  const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', `${curl}\n${script}`])
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown) // bodies have no line breaks
}
