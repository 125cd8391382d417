import type { Logger } from 'pino'

interface Job {
  everyMs: number
  run(): Promise<unknown>
}

/**
 * Starts the background jobs. A job that fails is logged and runs again at its next interval.
 * @returns stops all jobs
 */
export function startJobs(log: Logger, jobs: Job[]): () => void {
  const onError = (err: unknown) => log.warn({ err }, 'background job failed')
  const timers = jobs.map(({ everyMs, run }) => setInterval(() => void run().catch(onError), everyMs).unref())
  return () => timers.forEach((timer) => clearInterval(timer))
}
