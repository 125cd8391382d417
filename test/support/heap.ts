import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * @returns the used heap, with buffers, in bytes after two garbage collections: a thread of V8 frees the buffers that the
 *   first one has found, and the second one waits for it
 */
export function usedHeapBytes(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void // a global that --expose-gc defines
  collect()
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
