import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** To the server, or back. */
type Direction = 'requests' | 'responses'

/** A TCP proxy in front of a server, which injects network faults. */
export interface TcpProxy {
  /** The server's URL, through this proxy. */
  url: string
  /** How many connections are open. */
  readonly connections: number
  /** Delays every byte, each way. */
  latency(ms: number): void
  /** Forwards at most this number of bytes at a time. */
  slice(bytes: number): void
  /** From now on nothing goes in these directions, as on a silent network; what comes waits for `mend`. */
  hold(...directions: Direction[]): void
  /** Ends latency, slicing and holding; forwards what was held. */
  restore(): void
  /** Closes every connection: with FIN, or with RST as a crashed machine or a firewall does. */
  cut(how?: 'end' | 'reset'): void
  /** Closes every connection and accepts none until `up`. */
  down(): Promise<void>
  up(): Promise<void>
}

/** Starts a proxy to the server of a URL. Nothing listens after `down`. */
export async function startTcpProxy(serverUrl: string): Promise<TcpProxy> {
  const target = new URL(serverUrl)
  const state = { latencyMs: 0, pieceBytes: Number.POSITIVE_INFINITY, held: new Set<Direction>() }
  const pairs = new Set<[near: Socket, far: Socket]>()
  let pumps: (() => void)[] = []

  /** Forwards what a socket receives, in order, under the faults that are set. */
  function forward(from: Socket, to: Socket, direction: Direction): void {
    const waiting: { chunk: Buffer; dueAt: number }[] = []
    let ended = false
    let again: NodeJS.Timeout | NodeJS.Immediate | undefined

    function pump(): void {
      again = undefined
      if (state.held.has(direction) || to.destroyed) return
      const [first] = waiting
      if (!first) return void (ended && to.end())
      const waitMs = first.dueAt - performance.now()
      if (waitMs > 0) return void (again = setTimeout(pump, waitMs))
      to.write(first.chunk.subarray(0, state.pieceBytes))
      first.chunk = first.chunk.subarray(state.pieceBytes)
      if (first.chunk.length === 0) waiting.shift()
      again = setImmediate(pump)
    }
    const wake = () => void (again ?? pump())
    from.setNoDelay(true)
    from.on('data', (chunk) => {
      waiting.push({ chunk, dueAt: performance.now() + state.latencyMs })
      wake()
    })
    from.on('end', () => {
      ended = true
      wake()
    })
    from.on('error', () => to.destroy())
    from.on('close', () => {
      pumps = pumps.filter((other) => other !== wake)
      if (!ended) to.destroy()
    })
    pumps.push(wake)
  }

  const server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ port: Number(target.port), host: target.hostname, allowHalfOpen: true })
    const pair: [Socket, Socket] = [near, far]
    pairs.add(pair)
    near.once('close', () => pairs.delete(pair))
    forward(near, far, 'requests')
    forward(far, near, 'responses')
  })
  const listen = (port: number) => new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  await listen(0)
  const { port } = server.address() as AddressInfo // a TCP server that listens has one
  const url = new URL(serverUrl)
  url.host = `127.0.0.1:${port}`

  function cut(how: 'end' | 'reset' = 'end'): void {
    for (const [near, far] of pairs) {
      if (how === 'reset') near.resetAndDestroy()
      else near.destroy()
      far.destroy()
    }
  }

  return {
    url: url.href,
    get connections() {
      return pairs.size
    },
    latency: (ms) => void (state.latencyMs = ms),
    slice: (bytes) => void (state.pieceBytes = bytes),
    hold: (...directions) => directions.forEach((direction) => state.held.add(direction)),
    restore() {
      Object.assign(state, { latencyMs: 0, pieceBytes: Number.POSITIVE_INFINITY })
      state.held.clear()
      pumps.forEach((wake) => wake())
    },
    cut,
    down() {
      const closed = new Promise<void>((done) => server.close(() => done()))
      cut()
      return closed
    },
    up: () => listen(port),
  }
}
