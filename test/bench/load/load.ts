import type { Server } from '../servers.ts'
import type { BenchRequest } from '../workloads.ts'

/** What a load requests for, of which server, how hard. */
export interface Load {
  server: Server
  requests: BenchRequest[]
  connections: number
  seconds: number
  /** Tell the answers' statuses apart, which costs the load a little. */
  statuses?: boolean
}

export interface LoadResult {
  seconds: number
  /** Answers by status; what is no 2xx may be under 0 where statuses are not told apart. */
  statuses: Record<number, number>
  /** Connections that broke, and answers that did not come in time. */
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
