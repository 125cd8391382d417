import { LRUCache } from 'lru-cache'

/** A part is not much larger, so that a slow client costs little memory. */
const PART_BYTES = 64 * 1024

/** Bound of the cache in bytes: streams send the same parts at about the same time. */
const CACHE_MAX_BYTES = 8_000_000

/** What parts that are not ready count in the cache: they are replaced as soon as they are. */
const PENDING_SIZE = 1_000

/** Consecutive events of a stream, which are written together. */
export interface Part {
  data: Buffer
  events: number
}

/** The parts of a page. @param key identifies them @param createTexts formats the events, if the parts are not known */
export type ToParts = (key: string, createTexts: () => Promise<string[]>) => Part[] | Promise<Part[]>

/** Formats the events of a page once for all streams that send it: most streams are at the same position. */
export function createParts(): ToParts {
  const cache = new LRUCache<string, Part[] | Promise<Part[]>>({
    maxSize: CACHE_MAX_BYTES,
    sizeCalculation: (parts, key) => key.length + (parts instanceof Promise ? PENDING_SIZE : sizeOf(parts)),
  })

  return (key, createTexts) => {
    const cached = cache.get(key)
    if (cached) return cached
    const pending = createTexts().then(joinTexts)
    cache.set(key, pending)
    void pending.then((parts) => cache.set(key, parts)).catch(() => cache.delete(key))
    return pending
  }
}

function joinTexts(texts: string[]): Part[] {
  const parts: Part[] = []
  let rest: Buffer[] = []
  let size = 0
  for (const [n, text] of texts.entries()) {
    const data = Buffer.from(text)
    rest.push(data)
    size += data.length
    if (size < PART_BYTES && n < texts.length - 1) continue
    parts.push({ data: Buffer.concat(rest), events: rest.length })
    rest = []
    size = 0
  }
  return parts
}

function sizeOf(parts: Part[]): number {
  return parts.reduce((size, { data }) => size + data.length, 1)
}
