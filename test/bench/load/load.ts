import type { Server } from '../servers.ts'
import type { BenchRequest } from '../workloads.ts'

/** What a load requests for, of which server, how hard. */
export interface Load {
  server: Server
  requests: BenchRequest[]
  connections: number
  seconds: number
  /** Count the responses by status, which slows the load generator a little. */
  statuses?: boolean
}

export interface LoadResult {
  seconds: number
  /** Responses by status. If statuses are not counted, all but 2xx may be under 0. */
  statuses: Record<number, number>
  /** Failed connections, and responses that timed out. */
  errors: number
  p50Ms: number
  p99Ms: number
}

export type Loader = (load: Load) => Promise<LoadResult>

export function successesOf({ statuses }: LoadResult): number {
  return sum(Object.entries(statuses).filter(([status]) => status.startsWith('2')))
}

export function responsesOf({ statuses }: LoadResult): number {
  return sum(Object.entries(statuses))
}

function sum(counts: [string, number][]): number {
  return counts.reduce((total, [, count]) => total + count, 0)
}
