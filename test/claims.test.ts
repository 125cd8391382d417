import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { pathOf, read } from './support/files.ts'

/** The numbers in the titles of all tests: "… is 503 [W9, W19]". */
const tested = readdirSync(pathOf('test'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.ts') && !path.includes('node_modules'))
  .flatMap((path) => read(`test/${path}`).match(/(?<= \[)[FW]\d+(, [FW]\d+)*(?=\]['`])/g) ?? [])
  .flatMap((numbers) => numbers.split(', '))

test.for([
  ['docs/feed.md', 'F'],
  ['docs/writes.md', 'W'],
] as const)('every claim of %s has a test, whose title has its number', ([page, letter]) => {
  const claims = read(page).match(/(?<=^- \*\*)[FW]\d+/gm)
  expect(new Set(claims)).toEqual(new Set(tested.filter((number) => number.startsWith(letter))))
})
