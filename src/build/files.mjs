import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The project's folder. The paths of the build are relative to it. */
export const root = fileURLToPath(new URL('../..', import.meta.url))

/** @returns undefined for a file that does not exist */
export function read(path) {
  try {
    return readFileSync(join(root, path))
  } catch (error) {
    if (error.code === 'ENOENT') return undefined
    throw error
  }
}

/** Replaces a file atomically if its content differs: a program that starts at the same time must not read half of it. */
export function replace(path, content) {
  if (read(path)?.equals(Buffer.from(content))) return
  const file = join(root, path)
  const temporary = `${file}.${process.pid}`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(temporary, content)
  renameSync(temporary, file)
}
