import { expect, test } from 'vitest'
import { read } from './support/files.ts'

/** The cells of the rows that begin with the number of a claim, without the backticks around them. */
function claimsOf(text: string): string[][] {
  const rows = text.match(/^\| [FW]\d+ .*\|$/gm) ?? []
  const cellsOf = (row: string) => row.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'))
  return rows.map((row) => cellsOf(row).slice(1, -1))
}

/** The titles of a file of tests. */
const titlesIn = (text: string) => [...text.matchAll(/\(\s*(['"`])((?:(?!\1).)+)\1/g)].map(([, , title]) => title)

test.for(['docs/feed.md', 'docs/writes.md'])('every claim of %s names a test that exists', (page) => {
  const [claims = '', tests = ''] = read(page).split(/^## Tests$/m)
  const rows = claimsOf(tests)
  const numbers = new Set(claims.match(/\b[FW]\d+\b/g))
  expect(new Set(rows.map(([number]) => number))).toEqual(numbers)
  for (const [, file = '', title = ''] of rows)
    expect(titlesIn(read(file.replaceAll('`', '')))).toContainEqual(expect.stringContaining(title))
})
