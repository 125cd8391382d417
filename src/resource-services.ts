import type { ReadRows, Statements } from './database/statements.ts'
import type { Resource } from './store/resource.ts'
import { createStore, type Store } from './store/store.ts'
import { Feed, type FeedOptions, type FeedStatements } from './feed/feed.ts'

/** The service layer of both APIs: for each resource, its operations on the database and the feed of its new items. */
export type ResourceServices = ReturnType<typeof createResourceServices>

type ResourceService<R extends Resource> = Store<R> & { feed: Feed<R> }

type DatabaseStatements = FeedStatements & { statements: Statements; readCount: ReadRows }

export function createResourceServices(resources: Resource[], database: DatabaseStatements, options: FeedOptions) {
  const { statements, readCount } = database
  const services = new Map(
    resources.map((resource): [Resource, ResourceService<Resource>] => {
      const feed = new Feed(resource, database, options)
      return [resource, { ...createStore(resource, statements, readCount, () => feed.wake()), feed }]
    }),
  )
  const feeds = [...services.values()].map(({ feed }) => feed)
  const max = (select: (feed: Feed<Resource>) => number) => () => Math.max(...feeds.map(select))
  return {
    tables: resources.map(({ table }) => table),
    /** @param resource of the list: its service was created with it */
    of: <R extends Resource>(resource: R) => services.get(resource) as unknown as ResourceService<R>,
    lagMs: max(({ reader }) => reader.lagMs()),
    gapWaits: () => feeds.reduce((sum, { reader }) => sum + reader.gapWaits(), 0),
    /** By how much the largest id of a resource is above the last id of its sequence: the maximum of all resources. */
    sequenceBehind: max(({ sequence }) => Number(sequence.highest - sequence.last)),
    sequenceCacheSize: max(({ sequence }) => Number(sequence.cacheSize)),
    checkFeeds: () => feeds.forEach((feed) => void feed.check()),
    stop: () => Promise.all(feeds.map((feed) => feed.stop())),
  }
}
