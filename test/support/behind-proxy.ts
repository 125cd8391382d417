import { onTestFinished } from 'vitest'
import { startTcpProxy, type TcpProxy } from '../chaos/tcp-proxy.ts'
import { startService, type TestService, type TestServiceOptions } from './harness.ts'

/** Starts an instance that reaches the database of a service through a proxy. Both are stopped after the test. */
export async function startBehindProxy(
  { databaseUrl, key }: TestService,
  options: TestServiceOptions = {},
): Promise<{ peer: TestService; proxy: TcpProxy }> {
  const stops: (() => Promise<void>)[] = []
  const proxy = await startTcpProxy(databaseUrl)
  onTestFinished(async () => {
    await proxy.down()
    await Promise.all(stops.map((stop) => stop()))
  })
  return { peer: await startService(proxy.url, stops, { key, ...options }), proxy }
}
