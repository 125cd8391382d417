import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { atMost, type Defer, exactly, type Measurement, quantile } from './assertions.ts'
import type { Client } from './client.ts'
import { atRate } from './connections.ts'
import type { Instance } from './instance.ts'

/** Bytes that no request needs, each kind as fast as it is taken: what is sent first, and then again and again. */
const FLOODS: [name: string, first: string, again: string][] = [
  ['blank lines in a rejected body', chunkedPost('100000\r\n'), '\r\n\r\n'],
  ['chunks of one byte in a rejected body', chunkedPost(''), '1\r\na\r\n'],
  ['blank lines before a request', 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n', '\r\n'],
]

/** Without a key, so that the response comes before the body. */
function chunkedPost(body: string): string {
  return `POST /v1/pets HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${body}`
}

const CONNECTIONS = 10

const program = fileURLToPath(new URL('flood.mjs', import.meta.url))

/** Connections without a key that send without a limit of rate, and connect again when they are closed. */
export async function attackWithBytes(
  defer: Defer,
  service: Instance,
  client: Client,
  seconds: number,
): Promise<Measurement[]> {
  const quiet = await measure(client, seconds)
  const measurements: Measurement[] = []
  for (const [name, first, again] of FLOODS) {
    const stop = flood(defer, service.port, first, again)
    const { p50Ms, rejected } = await measure(client, seconds)
    stop()
    await sleep(1_000) // within which the service has to be quiet again
    const cpuMs = await cpuMsOf(service)
    await sleep(1_000)
    measurements.push(
      atMost(`${CONNECTIONS} connections with ${name}: others’ p50`, p50Ms, Math.min(20 * quiet.p50Ms, 100), 'ms'),
      exactly('… others rejected', rejected, 0),
      atMost('… CPU in the second after them', (await cpuMsOf(service)) - cpuMs, 200, 'ms'),
    )
  }
  return measurements
}

async function measure(client: Client, seconds: number): Promise<{ p50Ms: number; rejected: number }> {
  const times: number[] = []
  let rejected = 0
  await atRate(50, seconds, async () => {
    const { status, ms } = await client.send('GET', '/v1/pets')
    if (status !== 200) rejected++
    times.push(ms)
  })
  return { p50Ms: quantile(times, 0.5), rejected }
}

/** @returns ends the flood */
function flood(defer: Defer, port: number, first: string, again: string): () => void {
  const sender = spawn(process.execPath, [program, String(port), String(CONNECTIONS), first, again], {
    stdio: 'inherit',
  })
  const end = () => void sender.kill('SIGKILL')
  defer(end)
  return end
}

/** The CPU time of a process so far. The kernel counts in hundredths of a second (proc(5)). */
async function cpuMsOf({ pid }: Instance): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}
