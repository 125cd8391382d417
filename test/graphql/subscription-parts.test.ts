import { expect, test } from 'vitest'
import { createParts } from '../../src/graphql/subscription/parts.ts'

test('the events of a page are formatted once for all streams that send it, and written together', async () => {
  const toParts = createParts()
  let formatted = 0
  const createTexts = async () => {
    formatted++
    return ['one;', 'two;', 'three;']
  }
  for (const parts of await Promise.all([toParts('1:3', createTexts), toParts('1:3', createTexts)])) {
    expect(parts.map(({ data, events }) => [data.toString(), events])).toEqual([['one;two;three;', 3]])
  }
  await toParts('1:3', createTexts)
  expect(formatted).toBe(1)
  await toParts('2:3', createTexts)
  expect(formatted).toBe(2)
})

test('large events are written in parts, so that a slow client holds few of them', async () => {
  const texts = Array.from({ length: 10 }, (_, n) => String(n).repeat(30_000))
  const parts = await createParts()('1:10', async () => texts)
  expect(parts.map(({ events }) => events)).toEqual([3, 3, 3, 1])
  expect(Buffer.concat(parts.map(({ data }) => data)).toString()).toBe(texts.join(''))
})

test('a page that failed is formatted again', async () => {
  const toParts = createParts()
  await expect(toParts('1:1', () => Promise.reject(new Error('no connection')))).rejects.toThrow('no connection')
  const [part] = await toParts('1:1', async () => ['one'])
  expect(part?.data.toString()).toBe('one')
})
