import type { RunStatement, Statements } from '../database/statements.ts'
import type { Resource } from '../store/resource.ts'
import { createFeed, type Feed, type FeedOptions } from './feed.ts'

export type Feeds = ReturnType<typeof createFeeds>

/** A feed for each resource. Their loops take turns on one connection, so that another one is left to requests and streams. */
export function createFeeds(resources: Resource[], statements: Statements, options: FeedOptions) {
  const runInTurn = takeTurns(statements.run)
  const feeds = new Map(
    resources.map((resource) => [resource, createFeed(resource, { ...statements, runInTurn }, options)]),
  )
  const all = [...feeds.values()]
  const max = (select: (feed: Feed<Resource>) => number) => () => Math.max(...all.map(select))
  return {
    of<R extends Resource>(resource: R): Feed<R> {
      const feed = feeds.get(resource)
      if (!feed) throw new Error(`There is no feed of ${resource.name}`)
      return feed as unknown as Feed<R> // it was created with this resource
    },
    lagMs: max(({ reader }) => reader.lagMs()),
    gapWaits: () => all.reduce((sum, { reader }) => sum + reader.gapWaits, 0),
    /** By how much ids are above their sequence. */
    sequenceBehind: max(({ sequence }) => Number(sequence().highest - sequence().last)),
    sequenceCacheSize: max(({ sequence }) => Number(sequence().cacheSize)),
    checkSequences: () => all.forEach(({ checkSequence }) => checkSequence()),
    stop: () => Promise.all(all.map(({ stop }) => stop())),
  }
}

/** @returns executes one statement at a time */
function takeTurns(run: RunStatement): RunStatement {
  let last: Promise<unknown> = Promise.resolve()
  return <Row>(text: string, values: unknown[]) => {
    const rows = last.then(() => run<Row>(text, values))
    last = rows.catch(() => {}) // its caller has the error
    return rows
  }
}
