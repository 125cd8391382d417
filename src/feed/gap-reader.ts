import { isDeepStrictEqual } from 'node:util'
import type { RunStatement } from '../database/statements.ts'
import { type Animal, animals } from '../pets/animal.ts'
import { INT64_MAX } from '../store/contract.ts'
import { describeTable } from '../store/table.ts'
import { RecentAnimals } from './recent.ts'
import { LAST_ID } from './sequence.ts'
import { pauseAfter, readNewest, readWriters, waitForWriters } from './settled.ts'

/** How often new animals are read, in milliseconds: less than ten queries a second. */
const POLL_MS = 105

const READ_SIZE = 500
const SELECT_BETWEEN = `
  SELECT ${describeTable(animals).selectList} FROM "public"."animal" AS item WHERE id > $1 AND id <= least($2, ${LAST_ID}) ORDER BY id LIMIT ${READ_SIZE}`

/** An id is missing below a visible one. */
interface Gap {
  sinceMs: number
  /** The newest id that was visible when the gap was seen, so that one wait is for all gaps below it. */
  newest: bigint
  wait: ReturnType<typeof waitForWriters>
}

/** Reads new animals in order of id. At a gap it waits for the transactions that may fill it. */
export function createGapReader(run: RunStatement) {
  let gap: Gap | undefined
  let gapWaits = 0

  /** Reads once, and appends what is settled. @returns the pause before the next read, in milliseconds */
  async function read(recent: RecentAnimals): Promise<number> {
    const rows = await run<Animal>(SELECT_BETWEEN, [recent.end, INT64_MAX])
    const firstGap = rows.findIndex(({ id }, n) => id !== recent.end + BigInt(n) + 1n)
    recent.append(firstGap < 0 ? rows : rows.slice(0, firstGap))
    if (gap && gap.newest <= recent.end) gap = undefined // everything has come
    if (firstGap < 0) return rows.length === READ_SIZE ? 0 : POLL_MS

    if (gap) gap.wait.update(await readWriters(run))
    else gap = await beginWait()
    if (!gap.wait.isOver) return pauseAfter(performance.now() - gap.sinceMs)
    // What was in flight is visible now, and what is still missing will never come.
    await readThrough(recent, gap.newest)
    gap = undefined
    return 0
  }

  async function beginWait(): Promise<Gap> {
    gapWaits++
    const { newest, writers } = await readNewest(run)
    return { sinceMs: performance.now(), newest, wait: waitForWriters(writers) }
  }

  async function readThrough(recent: RecentAnimals, newest: bigint): Promise<void> {
    let rows: Animal[]
    do {
      rows = await run<Animal>(SELECT_BETWEEN, [recent.end, newest])
      recent.append(rows, rows.length < READ_SIZE ? newest : undefined)
    } while (rows.length === READ_SIZE)
  }

  /** @returns the animals below a settled id, so that there are some to compare after a failed read */
  async function begin(settledId: bigint): Promise<RecentAnimals> {
    const recent = new RecentAnimals(settledId - BigInt(READ_SIZE))
    await readThrough(recent, settledId)
    return recent
  }

  return {
    begin,
    read,
    isCurrent: (recent?: RecentAnimals) => isCurrent(run, recent),
    reset: () => void (gap = undefined),
    get gapWaits() {
      return gapWaits
    },
    /** For how long animals that are visible have been held back because of a gap, in milliseconds. */
    lagMs: () => (gap ? performance.now() - gap.sinceMs : 0),
  }
}

/** Whether the table still has the newest animals that were read: a database that went back has others, or none. */
async function isCurrent(run: RunStatement, recent?: RecentAnimals): Promise<boolean> {
  const newest = recent?.newest(READ_SIZE) ?? []
  if (!recent || !newest[0]) return true
  return isDeepStrictEqual(await run<Animal>(SELECT_BETWEEN, [newest[0].id - 1n, recent.end]), newest)
}
