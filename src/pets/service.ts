import type { RunStatement, Statements } from '../database/statements.ts'
import type { Feed } from '../feed/feed.ts'
import { createStore, type Store } from '../store/store.ts'
import { animals } from './animal.ts'

export type Animals = Store<typeof animals>
export type AnimalFeed = Feed<typeof animals>

/** listPets, getPet, createPet (specification §4) and the number of animals, for both APIs. */
export function createAnimals(statements: Statements, runCount: RunStatement, onCreate?: () => void): Animals {
  return createStore(animals, statements, runCount, onCreate)
}
