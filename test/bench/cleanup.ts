/** What a run has set up and must not leave behind, undone last first. */
export interface Cleanup {
  add(undo: () => Promise<unknown>): void
  run(): Promise<void>
}

/** Runs also when a signal ends the program. What only SIGKILL can end this way it leaves behind. */
export function createCleanup(): Cleanup {
  const undos: (() => Promise<unknown>)[] = []
  let running: Promise<void> | undefined

  async function undoAll(): Promise<void> {
    for (let undo = undos.pop(); undo; undo = undos.pop()) await undo().catch((error: unknown) => console.error(error))
  }

  const run = () => (running ??= undoAll())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => void run().finally(() => process.exit(1)))
  }
  return {
    run,
    add(undo) {
      undos.push(undo)
      if (running) void undoAll() // it was being set up while the rest was taken down
    },
  }
}
