import { onTestFinished } from 'vitest'
import { startTcpProxy } from '../chaos/tcp-proxy.ts'
import type { TestService, TestServiceOptions } from './harness.ts'

/** Starts an instance that reaches the database of a service through a proxy. Both are stopped after the test. */
export async function startBehindProxy(service: TestService, options: TestServiceOptions = {}) {
  const proxy = await startTcpProxy(service.databaseUrl)
  onTestFinished(() => proxy.down())
  return { peer: await service.startPeer({ DATABASE_URL: proxy.url, ...options }), proxy }
}
