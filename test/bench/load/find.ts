import { spawnSync } from 'node:child_process'
import type { Loader } from './load.ts'
import { closedLoop } from './sockets.ts'
import { runWrk } from './wrk.ts'

/** wrk where there is one; else a loader of our own on Node, which is full before the fastest servers are. */
export function findLoader(dir: string): { name: string; run: Loader } {
  if (!spawnSync('wrk', ['-v']).error) return { name: 'wrk', run: (load) => runWrk(load, dir) }
  return { name: 'a loader on Node (wrk is not installed, so the fast look slower than they are)', run: closedLoop }
}
