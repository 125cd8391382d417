import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const read = (file: string) => readFileSync(join(fileURLToPath(new URL('..', import.meta.url)), file), 'utf8')

/** The cells of the rows that begin with the number of a claim, without the backticks around them. */
function claimsOf(text: string): string[][] {
  const rows = text.match(/^\| [FW]\d+ .*\|$/gm) ?? []
  const cellsOf = (row: string) => row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
  return rows.map((row) => cellsOf(row).slice(1, -1))
}

test.for(['docs/feed.md', 'docs/writes.md'])('every claim of %s names a test that exists', (page) => {
  const [claims = '', tests = ''] = read(page).split(/^## Tests$/m)
  const rows = claimsOf(tests)
  const numbers = new Set(claims.match(/\b[FW]\d+\b/g))
  expect(new Set(rows.map(([number]) => number))).toEqual(numbers)
  for (const [, file = '', title = ''] of rows) expect(read(file.replaceAll('`', ''))).toContain(title)
})
