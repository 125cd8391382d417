import cluster, { type Worker } from 'node:cluster'
import type { Logger } from 'pino'
import { AggregatorRegistry, type Registry } from 'prom-client'
import type { Config } from './config.ts'
import { onSignals } from './signals.ts'

type Message = { petstore: 'shutdown' } | { petstore: 'metrics'; request: number; text?: string }

/**
 * Runs this program in several workers that share the port, and replaces workers that exit. A worker that exits before
 * listening on PORT stops the cluster: restarting it would fail again.
 * @returns the exit code, when all workers have exited
 */
export async function runCluster({ WORKERS, METRICS_PORT }: Config, log: Logger): Promise<number> {
  let shuttingDown = false
  let exitCode = 0

  function shutDown(signal?: string): void {
    shuttingDown = true
    log.info({ signal }, 'shutting down')
    for (const worker of workers()) send(worker, { petstore: 'shutdown' })
  }
  onSignals(shutDown, () => {
    for (const worker of workers()) worker.process.kill('SIGKILL')
  })

  serveMetrics()
  cluster.on('fork', (worker) => {
    worker.on('error', (error) => {
      // A worker that cannot be spawned emits no `exit`. Other errors are those of the channel to a worker that exits.
      if (worker.process.pid === undefined) throw error
    })
  })
  cluster.fork() // the others follow when it listens
  return new Promise((resolve) => {
    const listening = new Set<Worker>()
    cluster.on('listening', (worker, { port }) => {
      // Node loses a message that arrives before the worker has a listener.
      if (shuttingDown) return send(worker, { petstore: 'shutdown' })
      if (port === METRICS_PORT) return
      if (listening.size === 0) for (let n = 1; n < WORKERS; n++) cluster.fork()
      listening.add(worker)
    })
    cluster.on('exit', (worker, code, signal) => {
      if (!shuttingDown) log.warn({ worker: worker.process.pid, code, signal }, 'worker exited')
      if (!shuttingDown && listening.has(worker)) return void cluster.fork()
      // A terminal and systemd signal every process; one that is starting has no handler yet.
      const isStopped = shuttingDown && ['SIGTERM', 'SIGINT', 'SIGHUP'].includes(signal)
      exitCode ||= isStopped ? 0 : (code ?? 1)
      if (!shuttingDown) shutDown()
      if (workers().length > 0) return
      log.info('stopped')
      resolve(exitCode)
    })
  })
}

/** Sends the aggregated metrics of all workers to each worker that requests them. */
function serveMetrics(): void {
  const aggregator = new AggregatorRegistry()
  cluster.on('message', (worker, message: Message) => {
    if (message.petstore !== 'metrics') return
    void aggregator.clusterMetrics().then(
      (text) => send(worker, { ...message, text }),
      () => send(worker, message), // a worker did not respond; without its counts the sums would be wrong
    )
  })
}

function workers(): Worker[] {
  return Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined)
}

function send(worker: Worker, message: Message): void {
  if (worker.isConnected()) worker.send(message)
}

/** In a worker: calls back when the primary requests a shutdown. */
export function onShutdown(shutDown: () => void): void {
  process.on('message', (message: Message) => {
    if (message.petstore === 'shutdown') shutDown()
  })
}

/** In a worker: reads the metrics of all workers, so that any of them can be scraped; undefined when some are missing. */
export function gatherMetrics(own: Registry): () => Promise<string | undefined> {
  AggregatorRegistry.setRegistries(own)
  void new AggregatorRegistry() // responds to the primary
  let requests = 0
  return () =>
    new Promise((resolve) => {
      const request = requests++
      process.on('message', function onMessage(message: Message) {
        if (message.petstore !== 'metrics' || message.request !== request) return
        process.off('message', onMessage)
        resolve(message.text)
      })
      process.send?.({ petstore: 'metrics', request } satisfies Message)
    })
}
