import { setTimeout as sleep } from 'node:timers/promises'
import { check, WrongResponse } from './check.ts'
import { responsesOf, type Loader, type LoadResult, successesOf } from './load/load.ts'
import type { Server } from './servers.ts'
import { type Usage, usageOf } from './usage.ts'
import type { BenchRequest } from './workloads.ts'

/** What one round of one server has shown. */
export interface Measured {
  /** Every answer, those of the warming up among them. */
  responses: number
  perSecond: number
  p50Ms: number
  p99Ms: number
  /** CPU seconds of a thousand requests, of the server and of PostgreSQL. */
  serverCpu: number | undefined
  postgresCpu: number | undefined
  peakRssMb: number | undefined
}

export interface Conditions {
  load: Loader
  /** Undefined where PostgreSQL was not started by the run. */
  postgresPid: number | undefined
  connections: number
  seconds: number
  warmup: number
}

/** How often a response under load is checked, in milliseconds. */
const PROBE_MS = 200

/** Runs a load without measuring it, so that V8 has compiled the hot code. @returns the number of responses */
export async function warmUp(
  server: Server,
  requests: BenchRequest[],
  { load, connections, warmup }: Conditions,
): Promise<number> {
  return warmup ? responsesOf(await load({ server, requests: requests, connections, seconds: warmup })) : 0
}

/** Warms up and measures. @throws WrongAnswer when any answer was not 2xx, or a probed one held the wrong animals */
export async function measure(server: Server, requests: BenchRequest[], conditions: Conditions): Promise<Measured> {
  const { load, postgresPid, connections, seconds } = conditions
  const warming = await warmUp(server, requests, conditions)
  const before = { server: server.usage(), postgres: postgresPid ? usageOf(postgresPid) : undefined }
  const result = await checkWhileRunning(server, requests, load({ server, requests: requests, connections, seconds }))
  const after = { server: server.usage(), postgres: postgresPid ? usageOf(postgresPid) : undefined }

  const answers = responsesOf(result)
  if (!answers || result.errors || successesOf(result) !== answers) {
    throw new WrongResponse(`${server.name}: not all answers are 2xx: ${JSON.stringify(result)}`)
  }
  const cpu = (from?: Usage, to?: Usage) => from && to && ((to.cpuSeconds - from.cpuSeconds) / answers) * 1_000
  return {
    responses: warming + answers,
    perSecond: answers / result.seconds,
    p50Ms: result.p50Ms,
    p99Ms: result.p99Ms,
    serverCpu: cpu(before.server, after.server),
    postgresCpu: cpu(before.postgres, after.postgres),
    peakRssMb: after.server?.peakRssMb,
  }
}

/** Checks answers now and then while a load runs: what is fast only when wrong does not count. */
async function checkWhileRunning(
  server: Server,
  requests: BenchRequest[],
  load: Promise<LoadResult>,
): Promise<LoadResult> {
  const over = new AbortController()
  const loaded = load.finally(() => over.abort())
  const probing = async () => {
    for (let turn = 0; !over.signal.aborted; turn++) {
      const request = requests[(turn * 97) % requests.length]
      if (request) await check(server, request)
      await sleep(PROBE_MS)
    }
  }
  const [result] = await Promise.all([loaded, probing()])
  return result
}
