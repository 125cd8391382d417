import { setImmediate as nextTurn } from 'node:timers/promises'

/** Clients take turns with one piece of work each, however many pieces of one client wait. */
export function createRoundRobin() {
  const queues = new Map<bigint, (() => Promise<void>)[]>()
  let isRunning = false

  async function run(): Promise<void> {
    isRunning = true
    // The loop also visits entries that are inserted while it runs, in the order of insertion.
    for (const [clientId, queue] of queues) {
      queues.delete(clientId)
      const execute = queue.shift()
      if (queue.length > 0) queues.set(clientId, queue)
      await execute?.()
      await nextTurn() // lets the follower use the result, and serves requests between two turns
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
