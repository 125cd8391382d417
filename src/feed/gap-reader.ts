import { isDeepStrictEqual } from 'node:util'
import type { ReadRows } from '../database/statements.ts'
import { INT64_MAX } from '../store/types.ts'
import type { Item, Resource } from '../store/resource.ts'
import { describeTable } from '../store/table.ts'
import { RecentItems } from './recent.ts'
import { selectLastId } from './sequence.ts'
import { createWriterWait } from './writers.ts'

/** How often new items are read, in milliseconds. With reads of the sequence, this makes less than ten queries a second. */
const POLL_MS = 120

const READ_SIZE = 500

/** Reads new items in order of id. At a gap it waits for the transactions that may fill it. */
export function createGapReader<R extends Resource>(resource: R, readRows: ReadRows) {
  const beginWait = createWriterWait(resource, readRows)
  const { name, selectList } = describeTable(resource)
  const text = `
    SELECT ${selectList} FROM ${name} AS item
    WHERE id > $1 AND id <= least($2, ${selectLastId(resource)}) ORDER BY id LIMIT ${READ_SIZE}`
  const readBetween = (after: bigint, end: bigint) => readRows<Item<R>>(text, [after, end])
  /** The wait for all gaps below the newest id that was visible when the first of them was seen. */
  let gap: Awaited<ReturnType<typeof beginWait>> | undefined
  let gapWaits = 0

  /** Reads once, and appends what is settled. @returns the pause before the next read, in milliseconds */
  async function read(recent: RecentItems<R>): Promise<number> {
    const rows = await readBetween(recent.end, INT64_MAX)
    const firstGap = rows.findIndex(({ id }, n) => id !== recent.end + BigInt(n) + 1n)
    recent.append(firstGap < 0 ? rows : rows.slice(0, firstGap))
    const isComplete = firstGap < 0 && rows.length < READ_SIZE // no gap is left, even if `gap.newest` was deleted
    if (gap && (isComplete || gap.newest <= recent.end)) gap = undefined
    if (firstGap < 0) return isComplete ? POLL_MS : 0
    if (gap) await gap.update()
    else {
      gapWaits++
      gap = await beginWait()
    }
    if (!gap.isOver) return gap.pauseMs
    // Items that were in flight are visible now. Ids that are still missing will never be visible.
    await readThrough(recent, gap.newest)
    gap = undefined
    return 0
  }

  async function readThrough(recent: RecentItems<R>, newest: bigint): Promise<void> {
    while (recent.end < newest) {
      const rows = await readBetween(recent.end, newest)
      recent.append(rows, rows.length < READ_SIZE ? newest : undefined)
    }
  }

  /** @returns the last items up to a settled id, so that there are some to compare after a failed read */
  async function begin(settledId: bigint): Promise<RecentItems<R>> {
    const recent = new RecentItems<R>(settledId - BigInt(READ_SIZE))
    await readThrough(recent, settledId)
    return recent
  }

  return {
    begin,
    read,
    /** Whether the table still has the newest items that were read: a database that went back has other items, or none. */
    async isCurrent(recent?: RecentItems<R>): Promise<boolean> {
      const newest = recent?.newest(READ_SIZE) ?? []
      if (!recent || !newest[0]) return true
      return isDeepStrictEqual(await readBetween(newest[0].id - 1n, recent.end), newest)
    },
    reset: () => void (gap = undefined),
    gapWaits: () => gapWaits,
    /** For how long items that are visible have been held back because of a gap, in milliseconds. */
    lagMs: () => gap?.waitedMs ?? 0,
  }
}
