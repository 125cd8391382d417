import { execFile, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { atMost, type Defer, exactly, info, type Measurement } from './assertions.ts'
import { issueKey } from './cluster.ts'
import { openConnections } from './connections.ts'
import { type Instance, startInstance } from './instance.ts'

const programOf = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const runProgram = (name: string, ...args: (string | number)[]) =>
  promisify(execFile)(process.execPath, [programOf(name), ...args.map(String)])

/** How many times longer than without the other client half of the requests of a client may take. */
const MAX_SLOWDOWN = 20

/** What unfinished bodies may take, in MB, beside the same connections without a body. */
const BODIES_MB = 150

/** A client without points to save, whose requests take long for their price, and whose bodies do not end. */
export async function attackWithDocuments(
  defer: Defer,
  url: string,
  { seconds, unfinished }: { seconds: number; unfinished: number },
): Promise<Measurement[]> {
  const service = await startInstance(defer, { DATABASE_URL: url })
  const [key, victimKey] = [await issueKey(url), await issueKey(url)]
  const measureVictim = () => runVictim(service, victimKey, seconds)
  await measureVictim() // warms up
  const quiet = await measureVictim()
  const measurements = [info('a client without others: p50', quiet.p50Ms, 'ms')]
  const families: string[] = JSON.parse((await runProgram('documents.mjs')).stdout)
  for (const connections of [20, 200]) {
    for (const family of families) {
      const args = [service.port, key, connections, family].map(String)
      const sender = spawn(process.execPath, [programOf('documents.mjs'), ...args], { stdio: 'inherit' })
      defer(() => void sender.kill('SIGKILL'))
      await sleep(1_000)
      const { p50Ms, rejected } = await measureVictim()
      sender.kill('SIGKILL')
      measurements.push(
        atMost(
          `${connections} connections with ${family}: another client’s p50`,
          p50Ms,
          MAX_SLOWDOWN * quiet.p50Ms,
          'ms',
        ),
        exactly('… its requests that are not 200', rejected, 0),
      )
    }
  }
  return [...measurements, ...(await attackWithBodies(service, key, unfinished))]
}

/** How long a body that is slow takes to arrive: each second a byte of it. */
const SECONDS = 5

/** Bodies that arrive slowly, then bodies that never end. */
async function attackWithBodies(service: Instance, key: string, count: number): Promise<Measurement[]> {
  const head = (bytes: number) =>
    `POST /graphql HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n`
  const body = JSON.stringify({ query: '{ __typename }' }).padEnd(2_048 - SECONDS) // white space may follow JSON
  const slow = await openConnections(service.port, 1_000, { send: head(2_048) + body, drip: ' ' })
  await slow.closed(2_000 * SECONDS)
  const idle = await openConnections(service.port, count, { send: head(65_536) })
  await sleep(1_000)
  const withoutBodiesMb = await service.residentMb()
  await idle.closed(1)
  const unfinished = await openConnections(service.port, count, { send: head(65_536) + ' '.repeat(65_535) })
  await sleep(1_000)
  const withBodiesMb = await service.residentMb()
  await unfinished.closed(1)
  return [
    exactly(`1,000 bodies of 2 KiB that arrive over ${SECONDS} s: succeeded`, slow.countByStatus.get(200) ?? 0, 1_000),
    atMost(`${count} unfinished bodies of 64 KiB: memory`, withBodiesMb - withoutBodiesMb, BODIES_MB, 'MB'),
  ]
}

async function runVictim(
  service: Instance,
  key: string,
  seconds: number,
): Promise<{ p50Ms: number; rejected: number }> {
  const { stdout } = await runProgram('victim.mjs', service.port, key, seconds)
  return JSON.parse(stdout)
}
