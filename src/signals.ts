/**
 * A second signal within this time, in milliseconds, is the same Ctrl-C: a terminal signals every process, and `npm` and
 * `node --watch` pass the signal on.
 */
const SAME_SIGNAL_MS = 2_000

/**
 * Handles SIGTERM, SIGINT and SIGHUP of this process.
 * @param shutDown called once, with the first signal
 * @param exitNow called when SIGTERM or SIGINT follows
 */
export function onSignals(shutDown: (signal: string) => void, exitNow: () => void): void {
  let firstAt: number | undefined
  function onSignal(signal: string): void {
    if (firstAt === undefined) {
      firstAt = performance.now()
      shutDown(signal)
    } else if (signal !== 'SIGHUP' && performance.now() - firstAt > SAME_SIGNAL_MS) exitNow()
  }
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal).on('SIGHUP', onSignal)
}
