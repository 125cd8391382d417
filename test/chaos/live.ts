import { definePart } from './assertions.ts'
import { prepareDatabase, startCluster } from './cluster.ts'
import { streamUnderFaults } from './live-faults.ts'
import { measureLatency } from './live-latency.ts'
import { measureLoad } from './live-load.ts'
import { measureResume } from './live-resume.ts'
import { measureRevocation } from './live-revocation.ts'

/** Subscriptions: every animal reaches every stream, in order, whatever is killed or cut; and what streams cost. */
export const live = definePart(
  {
    instances: 3,
    streams: 30,
    kills: 12,
    databaseKills: 5,
    networkFaults: 20,
    pauseMs: 20_000,
    animals: 100,
    revocations: 5,
    open: 5_000,
    rate: 20,
    seconds: 15,
    resuming: 300,
    unreadStreams: 2_000,
  },
  async (defer, sizes) => {
    const cluster = await startCluster(defer)
    const database = await prepareDatabase(cluster.url)
    return [
      ...(await measureLatency(defer, database, sizes)),
      ...(await measureRevocation(defer, database, sizes)),
      ...(await measureLoad(defer, database, sizes)),
      ...(await streamUnderFaults(defer, database, sizes, cluster)),
      ...(await measureResume(defer, database, sizes)),
    ]
  },
)
