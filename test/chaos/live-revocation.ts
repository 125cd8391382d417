import { setTimeout as sleep } from 'node:timers/promises'
import { keyPrefix } from '../../src/auth/api-keys.ts'
import { atMost, type Defer, exactly, info, type Measurement, onQuietMachine } from './assertions.ts'
import { issueKey, type TestDatabase, withApiKeys } from './cluster.ts'
import { PATIENT, startInstance } from './instance.ts'
import { connectStream } from './stream-client.ts'

/** Promised for a client that reads. */
const MAX_MS = 5_000

/** Revokes keys of open streams at random moments, and measures when the streams end. */
export async function measureRevocation(
  defer: Defer,
  { url }: TestDatabase,
  { revocations }: { revocations: number },
): Promise<Measurement[]> {
  const instances = await Promise.all([1, 2].map(() => startInstance(defer, { DATABASE_URL: url, ...PATIENT })))
  const revokeOne = async (_: unknown, n: number) => {
    const key = await issueKey(url)
    const problems: string[] = []
    const handlers = { onEvent: () => {}, onProblem: (event: string) => problems.push(event) }
    const transport = n % 2 ? 'multipart' : 'sse'
    const streams = instances.map(({ port }) => connectStream({ port, key, transport }, handlers))
    await Promise.all(streams.map(({ opened }) => opened))
    await sleep(Math.random() * 6_000) // at any moment between two verifications
    const revokedMs = performance.now()
    await withApiKeys(url, (keys) => keys.revoke(keyPrefix(key)))
    await Promise.all(streams.map(({ ended }) => ended))
    const errors = problems.filter((event) => event.includes('"UNAUTHENTICATED"'))
    return { ms: performance.now() - revokedMs, silent: streams.length - errors.length }
  }
  const results = await Promise.all(Array.from({ length: revocations }, revokeOne))
  await Promise.all(instances.map((instance) => instance.stop('SIGTERM')))
  return [
    info('keys of open streams that were revoked', revocations),
    onQuietMachine(atMost('… streams ended after at most', Math.max(...results.map(({ ms }) => ms)), MAX_MS, 'ms')),
    exactly('… streams that ended without UNAUTHENTICATED', results.filter(({ silent }) => silent > 0).length, 0),
  ]
}
