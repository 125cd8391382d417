import type { Animal } from '../pets/animal.ts'

/** How many animals are kept at least, if so many were added. */
export const RECENT_SIZE = 10_000

let created = 0

/** The animals that were added last, oldest first. */
export class RecentAnimals {
  /** Identifies the state of the database: a restored one gives ids again. */
  readonly number = ++created
  /** The animals above `#start` and up to `end` are complete. */
  end: bigint
  /** What `end` was when all followers were woken last. */
  announced: bigint | undefined
  #start: bigint
  #animals: Animal[] = []

  constructor(start: bigint) {
    this.#start = start
    this.end = start
  }

  /** Appends the next animals. @param end the animals are complete up to this id; by default up to the last one */
  append(animals: Animal[], end = animals.at(-1)?.id ?? this.end): void {
    this.#animals.push(...animals)
    if (end > this.end) this.end = end // less only if the newest animals were deleted meanwhile
    if (this.#animals.length < 2 * RECENT_SIZE) return
    const dropped = this.#animals.splice(0, this.#animals.length - RECENT_SIZE)
    this.#start = dropped.at(-1)?.id ?? this.#start
  }

  newest(limit: number): Animal[] {
    return this.#animals.slice(-limit)
  }

  after(id: bigint, limit: number): Animal[] | undefined {
    if (id < this.#start) return undefined // some of them are no longer kept
    let [low, high] = [0, this.#animals.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#animals[middle]?.id ?? id) <= id) low = middle + 1
      else high = middle
    }
    return this.#animals.slice(low, low + limit)
  }
}
