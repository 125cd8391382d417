import type { ServerResponse } from 'node:http'
import type { Request } from 'express'

/** How many bytes may wait for the clients of one API key, and of all keys. */
const MAX_BYTES_OF_KEY = 8 * 1024 * 1024
const MAX_BYTES = 64 * 1024 * 1024

/**
 * Bounds the memory of responses that their clients have not taken. Beyond the bound of a key, the connection is closed
 * whose response has waited longest; beyond that of all keys, the one of the key for which most bytes wait. What the
 * kernel's buffers take does not count, nor do responses without a key: they are small, or share one copy.
 * @returns call it with each response when it was ended
 */
export function limitUnreadResponses(): (res: ServerResponse) => void {
  /** The responses that wait, oldest first. */
  const waiting = new Map<ServerResponse, { clientId: bigint; bytes: number }>()
  const bytesByClient = new Map<bigint, number>()
  let totalBytes = 0

  function add(clientId: bigint, bytes: number): void {
    totalBytes += bytes
    const ofClient = (bytesByClient.get(clientId) ?? 0) + bytes
    if (ofClient) bytesByClient.set(clientId, ofClient)
    else bytesByClient.delete(clientId)
  }

  function remove(res: ServerResponse): void {
    const entry = waiting.get(res)
    if (entry && waiting.delete(res)) add(entry.clientId, -entry.bytes)
  }

  /** Closes the connection of the client's response that has waited longest. */
  function cutOldest(clientId: bigint | undefined): void {
    for (const [res, entry] of waiting) {
      if (entry.clientId !== clientId) continue
      remove(res)
      const req = res.req as Request // those of the app are Express's
      req.errorCode ??= 'RESOURCE_EXHAUSTED'
      return void req.socket.destroy()
    }
  }

  /** The client for which most bytes wait, so that others keep theirs. */
  function largestClient(): bigint | undefined {
    return [...bytesByClient].reduce((a, b) => (b[1] > a[1] ? b : a), [undefined, 0] as [bigint | undefined, number])[0]
  }

  const isOverLimit = (clientId: bigint) => (bytesByClient.get(clientId) ?? 0) > MAX_BYTES_OF_KEY
  const isOverTotal = () => totalBytes > MAX_BYTES

  return (res) => {
    const { caller } = res.req as Request // those of the app are Express's
    if (!caller || res.destroyed || res.writableLength === 0 || waiting.has(res)) return
    const bytes = Number(res.getHeader('Content-Length') ?? res.writableLength) // a string's length is not in bytes
    waiting.set(res, { clientId: caller.clientId, bytes })
    add(caller.clientId, bytes)
    res.once('close', () => remove(res))
    while (isOverLimit(caller.clientId)) cutOldest(caller.clientId)
    while (isOverTotal()) cutOldest(largestClient())
  }
}
