import { expect, test } from 'vitest'
import { animals } from '../../src/pets/animal.ts'
import { createCursors } from '../../src/store/cursor.ts'
import { orders } from './orders.ts'

const ofPets = createCursors(animals)
const ofOrders = createCursors(orders)

test('cursors of pets are those of version 1.1.0; others have the name of their resource', () => {
  const decoded = (cursor: string) => Buffer.from(cursor, 'base64url').toString()
  expect(decoded(ofPets.toCursor(5n))).toBe('all:5')
  expect(decoded(ofPets.toCursor(5n, ofPets.filterKey({ status: 'sold' })))).toBe('sold:5')
  expect(decoded(ofOrders.toCursor(5n))).toBe('orders:all:5')
  expect(decoded(ofOrders.toCursor(-5n, ofOrders.filterKey({ status: 'placed' })))).toBe('orders:placed:-5')
})

test('a cursor is valid with its resource only', () => {
  expect(ofOrders.parseCursor(ofOrders.toCursor(5n), undefined, 'after')).toBe(5n)
  for (const [one, other] of [
    [ofPets, ofOrders],
    [ofOrders, ofPets],
  ] as const)
    expect(() => other.parseCursor(one.toCursor(5n), undefined, 'after')).toThrow('after: must be a cursor')
})
