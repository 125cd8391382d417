import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'

/** Whether a program is installed, and a suffix for the titles of tests that need it: the reason if they are skipped. */
export function findProgram(name: string, ...args: string[]) {
  const installed = spawnSync(name, args).status === 0
  return { installed, whySkipped: installed ? '' : ` (there is no ${name} on the PATH)` }
}

export const { installed: hasCurl, whySkipped: whyNoCurl } = findProgram('curl', '--version')
/** Prometheus' own checker, from the package `prometheus` of most systems. */
export const { installed: hasPromtool, whySkipped: whyNoPromtool } = findProgram('promtool', '--version')

/** @returns the body of each curl command's response, as JSON; rejects if a command fails or a status is 400 or above */
export async function runShell(script: string): Promise<unknown[]> {
  const curl = 'curl() { command curl --silent --show-error --fail "$@" && echo; }'
  const { stdout } = await promisify(execFile)('sh', ['-eu', '-c', `${curl}\n${script}`])
  const bodies = stdout.trim().split('\n') // which have no line breaks
  return bodies.map((body) => JSON.parse(body) as unknown)
}
