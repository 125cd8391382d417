import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The path of a file of the repository. */
export const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))

export const read = (path: string) => readFileSync(pathOf(path), 'utf8')

/** The code blocks of a page, or of one of its sections. */
export function codeIn(page: string, heading = ''): string[] {
  const text = heading && new RegExp(`^## ${heading}$[^]*?(?=^## |(?![^]))`, 'm').exec(read(page))?.[0]
  return [...(text || read(page)).matchAll(/^ *```\w+\n([^]*?)^ *```$/gm)].map(([, code = '']) => code)
}
