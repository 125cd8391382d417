import type { RunStatement, Statements } from '../database/statements.ts'
import type { Resource } from '../store/resource.ts'
import { createStore, type Store } from '../store/store.ts'
import { createFeed, type Feed, type FeedOptions } from './feed.ts'

/** The service layer of both APIs: for each resource, its operations on the database and the feed of its new items. */
export type Services = ReturnType<typeof createServices>

type ResourceService<R extends Resource> = Store<R> & { feed: Feed<R> }

interface DatabaseStatements {
  statements: Statements
  runCount: RunStatement
  feedStatements: Statements
}

/** The loops of the feeds take turns on one connection, so that another one is left to requests and streams. */
export function createServices(resources: Resource[], database: DatabaseStatements, options: FeedOptions) {
  const { statements, runCount, feedStatements } = database
  const runInTurn = takeTurns(feedStatements.run)
  const services = new Map(
    resources.map((resource): [Resource, ResourceService<Resource>] => {
      const feed = createFeed(resource, { ...feedStatements, runInTurn }, options)
      return [resource, { ...createStore(resource, statements, runCount, feed.wake), feed }]
    }),
  )
  const feeds = [...services.values()].map(({ feed }) => feed)
  const max = (select: (feed: Feed<Resource>) => number) => () => Math.max(...feeds.map(select))
  return {
    of<R extends Resource>(resource: R): ResourceService<R> {
      const service = services.get(resource)
      if (!service) throw new Error(`${resource.name} is not in the list of resources`)
      return service as unknown as ResourceService<R> // it was created with this resource
    },
    lagMs: max(({ reader }) => reader.lagMs()),
    gapWaits: () => feeds.reduce((sum, { reader }) => sum + reader.gapWaits, 0),
    /** By how much ids are above their sequence. */
    sequenceBehind: max(({ sequence }) => Number(sequence().highest - sequence().last)),
    sequenceCacheSize: max(({ sequence }) => Number(sequence().cacheSize)),
    checkSequences: () => feeds.forEach(({ checkSequence }) => checkSequence()),
    stop: () => Promise.all(feeds.map(({ stop }) => stop())),
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
