import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type ApiKeys, Scope } from './api-keys.ts'

/**
 * The key of the development database, kept in `DATA_DIR/dev-key` for its owner alone, so that first tries work by
 * copy and paste. Made when there is none, or when the database does not know it.
 */
export async function developmentKey(keys: ApiKeys, dataDir: string): Promise<string> {
  const file = join(dataDir, 'dev-key')
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim()
  if (await keys.verify(kept)) return kept
  const key = await keys.issue('development', { scopes: Scope.options })
  await writeFile(file, `${key}\n`, { mode: 0o600 })
  return key
}
