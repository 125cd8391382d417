import { connect, createServer, type Socket } from 'node:net'
import { freePort } from '../support/processes.ts'

type Direction = 'requests' | 'responses'

/** A TCP proxy in front of a server, which injects network faults. */
export interface TcpProxy {
  /** URL of the server through this proxy. */
  url: string
  /** Number of open connections. */
  readonly connections: number
  /** Delays all data in both directions. */
  latency(ms: number): void
  /** Forwards at most this number of bytes per write. */
  slice(bytes: number): void
  /** Stops forwarding in these directions. Received data is kept until `restore`. */
  hold(...directions: Direction[]): void
  /** Removes latency, slicing and holding, and forwards the data that was kept. */
  restore(): void
  /** Closes every connection, with FIN (default) or with RST as a restarted host does. */
  cut(packet?: 'fin' | 'rst'): void
  /** Closes every connection and refuses new ones until `up`. */
  down(): Promise<void>
  up(): Promise<void>
  /** Sends new connections to the server of another URL. */
  retarget(serverUrl: string): void
}

/** Starts a proxy in front of the server of a URL. */
export async function startTcpProxy(serverUrl: string): Promise<TcpProxy> {
  let target = new URL(serverUrl)
  const state = { latencyMs: 0, sliceBytes: Number.POSITIVE_INFINITY, held: new Set<Direction>() }
  const pairs = new Set<[client: Socket, upstream: Socket]>()
  let wakers: (() => void)[] = []

  /** Forwards what a socket receives, in order, with the current faults. */
  function forward(from: Socket, to: Socket, direction: Direction): void {
    const queue: { chunk: Buffer; dueAt: number }[] = []
    let ended = false
    let scheduled: NodeJS.Timeout | NodeJS.Immediate | undefined

    function pump(): void {
      scheduled = undefined
      if (state.held.has(direction) || to.destroyed) return
      const [first] = queue
      if (!first) return void (ended && to.end())
      const waitMs = first.dueAt - performance.now()
      if (waitMs > 0) return void (scheduled = setTimeout(pump, waitMs))
      to.write(first.chunk.subarray(0, state.sliceBytes))
      first.chunk = first.chunk.subarray(state.sliceBytes)
      if (first.chunk.length === 0) queue.shift()
      scheduled = setImmediate(pump)
    }
    const wake = () => void (scheduled ?? pump())
    from.setNoDelay(true)
    from.on('data', (chunk: Buffer) => {
      queue.push({ chunk, dueAt: performance.now() + state.latencyMs })
      wake()
    })
    from.on('end', () => {
      ended = true
      wake()
    })
    from.on('error', () => to.destroy())
    from.on('close', () => {
      wakers = wakers.filter((other) => other !== wake)
      if (!ended) to.destroy()
    })
    wakers.push(wake)
  }

  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true })
    const pair: [Socket, Socket] = [client, upstream]
    pairs.add(pair)
    client.once('close', () => pairs.delete(pair))
    forward(client, upstream, 'requests')
    forward(upstream, client, 'responses')
  })
  const port = await freePort() // and still free when it listens again
  const listen = () => new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  await listen()
  const url = new URL(serverUrl)
  url.host = `127.0.0.1:${port}`

  function cut(packet: 'fin' | 'rst' = 'fin'): void {
    for (const [client, upstream] of pairs) {
      if (packet === 'rst') client.resetAndDestroy()
      else client.destroy()
      upstream.destroy()
    }
  }

  return {
    url: url.href,
    get connections() {
      return pairs.size
    },
    latency: (ms) => void (state.latencyMs = ms),
    slice: (bytes) => void (state.sliceBytes = bytes),
    hold: (...directions) => directions.forEach((direction) => state.held.add(direction)),
    restore() {
      Object.assign(state, { latencyMs: 0, sliceBytes: Number.POSITIVE_INFINITY })
      state.held.clear()
      wakers.forEach((wake) => wake())
    },
    cut,
    down() {
      const closed = new Promise<void>((done) => server.close(() => done()))
      cut()
      return closed
    },
    up: listen,
    retarget: (other) => void (target = new URL(other)),
  }
}
