import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { OperatorError } from '../operator-error.ts'
import { type ApiKeys, Scope } from './api-keys.ts'

/**
 * Returns the key of the development database from `DATA_DIR/dev-key` (mode 0600), which lets the README's curl commands
 * work unchanged. Issues a new one when there is none or the database does not know it.
 */
export async function developmentKey(keys: ApiKeys, dataDir: string): Promise<string> {
  const file = join(dataDir, 'dev-key')
  const stored = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (await keys.isValid(stored)) return stored
  const key = await keys.issue('development', { scopes: Scope.options })
  await writeFile(file, `${key}\n`, { mode: 0o600 }).catch((error: Error) => {
    throw new OperatorError(`DATA_DIR: the development key cannot be written: ${error.message}`)
  })
  return key
}
