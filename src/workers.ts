import cluster, { type Worker } from 'node:cluster'
import { AggregatorRegistry, type Registry } from 'prom-client'

/** What the processes tell each other, beside prom-client's own messages. */
type Message = { petstore: 'end' } | { petstore: 'metrics'; request: number; text?: string }

/**
 * Runs this program in several processes that share the port, and replaces those that die. One that dies before it has
 * listened ends them all: the next would fare no better.
 * @returns the exit code, when all have ended
 */
export async function superviseWorkers(count: number): Promise<number> {
  const aggregator = new AggregatorRegistry()
  let ending = false
  let exitCode = 0

  function end(): void {
    ending = true
    for (const worker of workers()) tell(worker, { petstore: 'end' })
  }
  function endOnSignal(): void {
    if (ending) for (const worker of workers()) worker.process.kill('SIGKILL')
    else end()
  }
  process.on('SIGTERM', endOnSignal).on('SIGINT', endOnSignal)

  cluster.on('message', (worker, message: Message) => {
    if (message.petstore !== 'metrics') return
    void aggregator.clusterMetrics().then(
      (text) => tell(worker, { ...message, text }),
      () => tell(worker, message), // it dies or starts just now: that worker's own will do
    )
  })
  cluster.fork() // one tries whether it can be done; the others follow it
  cluster.once('listening', () => {
    for (let n = 1; n < count; n++) cluster.fork()
  })
  return new Promise((resolve) => {
    const listened = new WeakSet<Worker>()
    cluster.on('listening', (worker) => listened.add(worker))
    cluster.on('exit', (worker, code) => {
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

function tell(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message)
}

/** In a worker: calls back when all shall end. */
export function onEnd(end: () => void): void {
  process.on('message', (message: Message) => {
    if (message.petstore === 'end') end()
  })
}

/**
 * In a worker: the metrics of all workers together, so that it does not matter which of them is asked.
 * @param own this worker's
 */
export function gatherMetrics(own: Registry): () => Promise<string> {
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
    return text ?? own.metrics()
  }
}
