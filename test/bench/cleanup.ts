/** What a run has set up and must not leave behind, undone last first. */
export interface Cleanup {
  add(undo: () => Promise<unknown>): void
  run(): Promise<void>
  /** Whether a signal has ended the run: what fails from then on fails because of that. */
  readonly interrupted: boolean
}

/** Also runs when a signal other than SIGKILL stops the program. */
export function createCleanup(): Cleanup {
  const undos: (() => Promise<unknown>)[] = []
  let running: Promise<void> | undefined
  let interrupted = false

  async function undoAll(): Promise<void> {
    for (let undo = undos.pop(); undo; undo = undos.pop()) await undo().catch((error: unknown) => console.error(error))
  }

  const run = () => (running ??= undoAll())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      interrupted = true
      void run().finally(() => process.exit(1))
    })
  }
  return {
    run,
    get interrupted() {
      return interrupted
    },
    add(undo) {
      undos.push(undo)
      if (running) void undoAll() // it was being set up while the rest was taken down
    },
  }
}
