import { setImmediate as nextTurn } from 'node:timers/promises'

/** Clients take turns with one piece of work each, however many pieces of one client wait. */
export function createRoundRobin() {
  const queues = new Map<bigint, (() => Promise<void>)[]>()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    // A Map is iterated in the order of insertion, with what is inserted meanwhile.
    for (const [clientId, queue] of queues) {
      queues.delete(clientId)
      const execute = queue.shift()
      if (queue.length > 0) queues.set(clientId, queue)
      await execute?.()
      await nextTurn() // what follows from the work is part of the turn, and requests are served between two turns
    }
    isRunning = false
  }

  return <T>(clientId: bigint, work: () => Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      const queue = queues.get(clientId) ?? []
      queue.push(() => work().then(resolve, reject))
      queues.set(clientId, queue)
      if (!isRunning) void run()
    })
}
