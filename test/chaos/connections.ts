import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Many connections that all do the same. */
export interface ConnectionGroup {
  /** How many the server has not closed yet. */
  readonly left: number
  /** How many were answered with each status. */
  readonly countByStatus: Map<number, number>
  /** Until the server has closed every one, or time is up. @returns the longest that one was open, in milliseconds */
  closed(timeoutMs: number): Promise<number>
}

interface Behaviour {
  /** What each says first. */
  send?: string
  /** What each says once in a second from then on. */
  drip?: string
  /** Ends its half of the connection behind what it said. */
  end?: boolean
  /** Reads nothing of what comes. */
  neverReads?: boolean
}

/** Opens connections, fifty at a time, so that none waits for the kernel. */
export async function openConnections(
  port: number,
  count: number,
  { send: say = '', drip, end, neverReads: deaf }: Behaviour,
): Promise<ConnectionGroup> {
  const open = new Set<Socket>()
  const answered = new Map<number, number>()
  let emptied = () => {}
  const empty = new Promise<void>((done) => (emptied = done))
  let longestMs = 0

  function join(): Promise<void> {
    return new Promise((joined) => {
      let openedAt = performance.now()
      let dripping: NodeJS.Timeout | undefined
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: end ?? false }, () => {
        openedAt = performance.now()
        if (say) socket.write(say, 'latin1')
        if (drip) dripping = setInterval(() => socket.write(drip), 1_000)
        if (end) socket.end()
        joined()
      })
      open.add(socket)
      let received = ''
      if (deaf) socket.pause()
      else socket.setEncoding('latin1').on('data', (text: string) => (received += text.slice(0, 20)))
      socket.on('end', () => socket.destroy())
      socket.on('error', () => joined())
      socket.on('close', () => {
        clearInterval(dripping)
        open.delete(socket)
        longestMs = Math.max(longestMs, performance.now() - openedAt)
        const status = Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? 0)
        answered.set(status, (answered.get(status) ?? 0) + 1)
        if (open.size === 0) emptied()
      })
    })
  }
  for (let n = 0; n < count; n += 50) await Promise.all(Array.from({ length: Math.min(50, count - n) }, join))

  return {
    get left() {
      return open.size
    },
    countByStatus: answered,
    async closed(timeoutMs) {
      const over = new AbortController()
      await Promise.race([empty, sleep(timeoutMs, undefined, { signal: over.signal }).catch(() => {})])
      over.abort()
      const left = open.size
      open.forEach((socket) => socket.destroy())
      return left ? Number.POSITIVE_INFINITY : longestMs
    },
  }
}

/** Does something at a steady rate for some seconds, whether or not it is done in time. */
export async function atRate(rate: number, seconds: number, act: (n: number) => Promise<void>): Promise<void> {
  const open = new Set<Promise<void>>()
  const began = performance.now()
  for (let n = 0; n < rate * seconds;) {
    for (; n < Math.min(rate * seconds, ((performance.now() - began) * rate) / 1_000); n++) {
      const acting: Promise<void> = act(n).finally(() => open.delete(acting))
      open.add(acting)
    }
    await sleep(5)
  }
  await Promise.all(open)
}
