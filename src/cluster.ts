import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'
import { AggregatorRegistry, type Registry } from 'prom-client'

/** What the processes tell each other, beside prom-client's own messages. */
type Message = { petstore: 'end' } | { petstore: 'metrics'; request: number; text?: string }

/**
 * Runs this program in several processes that share the port, and replaces those that die. One that dies before it has
 * listened ends them all: the next would fare no better.
 * @param metricsPort to listen there first, if there is one, is not enough
 * @returns the exit code, when all have ended
 */
export async function runCluster(
  { workers: count, metricsPort }: { workers: number; metricsPort?: number | undefined },
  log: Logger,
): Promise<number> {
  const aggregator = new AggregatorRegistry()
  let ending = false
  let exitCode = 0

  function end(): void {
    ending = true
    for (const worker of workers()) send(worker, { petstore: 'end' })
  }
  function endOnSignal(): void {
    if (ending) for (const worker of workers()) worker.process.kill('SIGKILL')
    else end()
  }
  process.on('SIGTERM', endOnSignal).on('SIGINT', endOnSignal)

  cluster.on('message', (worker, message: Message) => {
    if (message.petstore !== 'metrics') return
    void aggregator.clusterMetrics().then(
      (text) => send(worker, { ...message, text }),
      () => send(worker, message), // one dies or hangs just now: without its own the counts would be wrong
    )
  })
  cluster.on('fork', (worker) => {
    worker.on('error', (error) => {
      // What was sent to one that dies just now is lost with it; one that could not even be started will not end, too.
      if (worker.process.pid === undefined) throw error
    })
  })
  cluster.fork() // one tries whether it can be done; the others follow it
  return new Promise((resolve) => {
    const listened = new Set<Worker>()
    cluster.on('listening', (worker, { port }) => {
      if (port === metricsPort) return
      if (listened.size === 0) for (let n = 1; n < count; n++) cluster.fork()
      listened.add(worker)
    })
    cluster.on('exit', (worker, code, signal) => {
      if (!ending) log.warn({ worker: worker.process.pid, code, signal }, 'worker died')
      if (!ending && listened.has(worker)) return void cluster.fork()
      exitCode ||= code ?? 1
      if (!ending) end()
      if (workers().length === 0) resolve(exitCode)
    })
  })
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}

function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message)
}

/** In a worker: calls back when all shall end. */
export function onShutdown(end: () => void): void {
  process.on('message', (message: Message) => {
    if (message.petstore === 'end') end()
  })
}

/**
 * In a worker: the metrics of all workers together, so that it does not matter which of them is asked; undefined when
 * not all of them have told theirs.
 * @param own this worker's
 */
export function gatherMetrics(own: Registry): () => Promise<string | undefined> {
  AggregatorRegistry.setRegistries(own)
  void new AggregatorRegistry() // answers the supervisor
  const waiting = new Map<number, (text: string | undefined) => void>()
  let requests = 0
  process.on('message', (message: Message) => {
    if (message.petstore === 'metrics') waiting.get(message.request)?.(message.text)
  })
  return async () => {
    const request = requests++
    const text = await new Promise<string | undefined>((resolve) => {
      waiting.set(request, resolve)
      process.send?.({ petstore: 'metrics', request } satisfies Message)
    })
    waiting.delete(request)
    return text
  }
}
