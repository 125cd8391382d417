import type { Item, Resource } from '../store/resource.ts'

/** How many items are kept at least, if so many were added. */
export const RECENT_SIZE = 10_000

/** The items that were added last, oldest first. */
export class RecentItems<R extends Resource> {
  /** The items above `#start` and up to `end` are complete. */
  end: bigint
  /** `end` when all followers were last woken. */
  announced: bigint | undefined
  #start: bigint
  #items: Item<R>[] = []

  constructor(start: bigint) {
    this.#start = start
    this.end = start
  }

  /** Appends the next items. @param end the items are complete up to this id, by default the id of the last one */
  append(items: Item<R>[], end = items.at(-1)?.id ?? this.end): void {
    this.#items.push(...items)
    if (end > this.end) this.end = end // `end` is less only if the newest items were deleted meanwhile
    if (this.#items.length < 2 * RECENT_SIZE) return
    const dropped = this.#items.splice(0, this.#items.length - RECENT_SIZE)
    this.#start = dropped.at(-1)?.id ?? this.#start
  }

  newest(limit: number): Item<R>[] {
    return this.#items.slice(-limit)
  }

  after(id: bigint, limit: number): Item<R>[] | undefined {
    if (id < this.#start) return undefined // some items above `id` are no longer kept
    let [low, high] = [0, this.#items.length] // a binary search: thousands of streams may be thousands of items behind
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#items[middle]?.id ?? id) <= id) low = middle + 1
      else high = middle
    }
    return this.#items.slice(low, low + limit)
  }
}
