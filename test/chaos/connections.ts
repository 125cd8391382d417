import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Many connections that behave in the same way. */
export interface ConnectionGroup {
  /** How many the server has not closed. */
  readonly left: number
  /** The number of connections by the status of their first response; 0 without a response. */
  readonly countByStatus: Map<number, number>
  /**
   * Waits until the server has closed every connection, and closes those that remain at the timeout.
   * @returns how long the last one was open, in milliseconds; infinity when some remained
   */
  closed(timeoutMs: number): Promise<number>
}

export interface Behaviour {
  /** What each sends first. */
  send?: string
  /** What each sends once a second from then on. */
  drip?: string
  /** Ends its half of the connection after that. */
  end?: boolean
  /** Reads no response. */
  neverReads?: boolean
}

/** Opens connections, fifty at a time, so that none waits in the kernel's queue. */
export async function openConnections(
  port: number,
  count: number,
  { send = '', drip, end, neverReads }: Behaviour,
): Promise<ConnectionGroup> {
  const open = new Set<Socket>()
  const countByStatus = new Map<number, number>()
  let onAllClosed = () => {}
  const allClosed = new Promise<void>((resolve) => (onAllClosed = resolve))
  let longestMs = 0

  function openOne(): Promise<void> {
    return new Promise((opened) => {
      let openedAt = performance.now()
      let dripping: NodeJS.Timeout | undefined
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: end ?? false }, () => {
        openedAt = performance.now()
        if (send) socket.write(send, 'latin1')
        if (drip) dripping = setInterval(() => socket.write(drip), 1_000)
        if (end) socket.end()
        opened()
      })
      open.add(socket)
      let received = ''
      if (neverReads) socket.pause()
      else socket.setEncoding('latin1').on('data', (text: string) => (received += text.slice(0, 20)))
      socket.on('end', () => socket.destroy())
      socket.on('error', () => opened())
      socket.on('close', () => {
        clearInterval(dripping)
        open.delete(socket)
        longestMs = Math.max(longestMs, performance.now() - openedAt)
        const status = Number(/^HTTP\/1\.1 (\d+)/.exec(received)?.[1] ?? 0)
        countByStatus.set(status, (countByStatus.get(status) ?? 0) + 1)
        if (open.size === 0) onAllClosed()
      })
    })
  }
  for (let n = 0; n < count; n += 50) await Promise.all(Array.from({ length: Math.min(50, count - n) }, openOne))

  return {
    get left() {
      return open.size
    },
    countByStatus,
    async closed(timeoutMs) {
      const timer = new AbortController()
      await Promise.race([allClosed, sleep(timeoutMs, undefined, { signal: timer.signal }).catch(() => {})])
      timer.abort()
      const left = open.size
      open.forEach((socket) => socket.destroy())
      return left ? Number.POSITIVE_INFINITY : longestMs
    },
  }
}

/** Acts at a steady rate for some seconds, without waiting for the previous actions. */
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
