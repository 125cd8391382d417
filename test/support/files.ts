import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** The path of a file of the repository. */
export const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

export const read = (path: string) => readFileSync(pathOf(path), 'utf8')

/** Writes a file, which is removed with its folder after the test. @returns its path */
export function temporaryFile(text: string, name = 'file'): string {
  const folder = mkdtempSync(join(tmpdir(), 'pet-store-file-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, name), text)
  return join(folder, name)
}

/** The code blocks of a page, or of one of its sections. */
export function codeIn(page: string, heading = ''): string[] {
  const text = heading && new RegExp(`^## ${heading}$[^]*?(?=^## |(?![^]))`, 'm').exec(read(page))?.[0]
  return [...(text || read(page)).matchAll(/^ *```\w+\n([^]*?)^ *```$/gm)].map(([, code = '']) => code)
}
