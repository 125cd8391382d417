import { readFileSync, statSync } from 'node:fs'

/** Reads a file that the configuration names; a device or a pipe could block the start, or have no end. */
export function readRegularFile(file: string, maxBytes: number): string {
  const stats = statSync(file)
  if (!stats.isFile()) throw new Error('is not a regular file')
  if (stats.size > maxBytes) throw new Error(`is larger than ${maxBytes} bytes`)
  return readFileSync(file, 'utf8')
}
