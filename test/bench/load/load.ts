import { spawnSync } from 'node:child_process'
import type { Server } from '../servers.ts'
import type { Ask } from '../works.ts'
import { closedLoop } from './sockets.ts'
import { runWrk } from './wrk.ts'

/** What a load asks for, of which server, how hard. */
export interface Load {
  server: Server
  asks: Ask[]
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

/** wrk where there is one; else a loader of our own on Node, which is full before the fastest servers are. */
export function findLoader(dir: string): { name: string; run: Loader } {
  if (!spawnSync('wrk', ['-v']).error) return { name: 'wrk', run: (load) => runWrk(load, dir) }
  return { name: 'a loader on Node, as wrk is not installed: the fast ones look slower than they are', run: closedLoop }
}

export function okOf({ statuses }: LoadResult): number {
  return sum(Object.entries(statuses).filter(([status]) => status.startsWith('2')))
}

export function answersOf({ statuses }: LoadResult): number {
  return sum(Object.entries(statuses))
}

function sum(counts: [string, number][]): number {
  return counts.reduce((total, [, count]) => total + count, 0)
}
