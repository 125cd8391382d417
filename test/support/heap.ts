import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** @returns the used heap, with buffers, in bytes after a garbage collection */
export function usedHeapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void // a global that --expose-gc defines
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
