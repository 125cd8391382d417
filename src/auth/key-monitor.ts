import { context, ROOT_CONTEXT } from '@opentelemetry/api'
import type { Caller } from './api-keys.ts'
import type { KeyHash, KeyLookup } from './key-lookup.ts'

/** How often keys are verified again, in milliseconds: a stream of a revoked key ends within five seconds. */
const VERIFY_MS = 4_000

/** How soon a key is verified that was not watched before, in milliseconds: it may come from the cache. */
const FIRST_VERIFY_MS = 100

interface WatchedKey {
  key: KeyHash
  caller: Caller
  /** Whether it was looked up since it is watched. */
  verified: boolean
  /** Each is called once, when the key is no longer valid. */
  onInvalid: Set<() => void>
}

/** Verifies keys while responses to their requests are in progress. */
export interface KeyMonitor {
  /** @returns ends the verification */
  watch(key: KeyHash, caller: Caller, onInvalid: () => void): () => void
}

interface KeyMonitorDependencies {
  keyLookup: KeyLookup
  recordUse(caller: Caller): void
  now(): Date
  onError(error: unknown): void
}

/** Verifies all watched keys with one query at a time. While the database is not available, only their expiry counts. */
export function createKeyMonitor({ keyLookup, recordUse, now, onError }: KeyMonitorDependencies): KeyMonitor {
  const watched = new Map<string, WatchedKey>()
  let timer: NodeJS.Timeout | undefined
  let dueAtMs = Infinity
  let verifying = false

  async function verify(): Promise<void> {
    verifying = true
    dueAtMs = Infinity
    const keys = [...watched.values()].map(({ key }) => key)
    const callers = await keyLookup.findAll(keys).catch(onError)
    for (const { id } of keys) {
      const entry = watched.get(id)
      if (!entry) continue
      const caller = callers ? callers.get(id) : unlessExpired(entry.caller, now())
      entry.verified = true
      if (caller) recordUse((entry.caller = caller))
      else for (const end of entry.onInvalid) end()
    }
    verifying = false
    verifyIn([...watched.values()].every(({ verified }) => verified) ? VERIFY_MS : FIRST_VERIFY_MS)
  }

  /** Verifies after `ms`, if nothing is due before. */
  function verifyIn(ms: number): void {
    const atMs = performance.now() + ms
    if (watched.size === 0 || verifying || atMs >= dueAtMs) return
    clearTimeout(timer)
    // Outside the context of the request: its span is not the parent of the statement.
    timer = setTimeout(() => void context.with(ROOT_CONTEXT, verify), ms).unref()
    dueAtMs = atMs
  }

  return {
    watch(key, caller, onInvalid) {
      const entry = watched.get(key.id) ?? { key, caller, verified: false, onInvalid: new Set() }
      watched.set(key.id, entry)
      entry.onInvalid.add(onInvalid)
      verifyIn(entry.verified ? VERIFY_MS : FIRST_VERIFY_MS)
      return () => {
        entry.onInvalid.delete(onInvalid)
        if (entry.onInvalid.size === 0 && watched.get(key.id) === entry) watched.delete(key.id)
        if (watched.size > 0) return
        clearTimeout(timer)
        dueAtMs = Infinity
      }
    },
  }
}

function unlessExpired(caller: Caller, now: Date): Caller | undefined {
  return caller.expiresAt && caller.expiresAt <= now ? undefined : caller
}
