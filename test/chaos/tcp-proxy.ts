import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** What is on its way in one direction. */
type Direction = 'requests' | 'answers'

/** A TCP line to a server that can be made as bad as lines get. */
export interface Line {
  /** The server's URL, over this line. */
  url: string
  /** How many connections are open. */
  readonly connections: number
  /** Every byte takes so long, each way. */
  latency(ms: number): void
  /** Hands bytes on in pieces of so many, each by itself. */
  slice(bytes: number): void
  /** From now on nothing goes in these directions, as on a silent network; what comes waits for `mend`. */
  hold(...directions: Direction[]): void
  /** A good line again: nothing is slow, cut into pieces or held; what waited goes on. */
  mend(): void
  /** Ends every connection: in order (FIN), or as a crashed machine or a firewall does (RST). */
  cut(how?: 'end' | 'reset'): void
  /** Cuts, and takes no connection until `up`. */
  down(): Promise<void>
  up(): Promise<void>
}

/** Opens a line to the server of a URL. Nothing listens after `down`. */
export async function openLine(serverUrl: string): Promise<Line> {
  const target = new URL(serverUrl)
  const state = { latencyMs: 0, pieceBytes: Number.POSITIVE_INFINITY, held: new Set<Direction>() }
  const pairs = new Set<[near: Socket, far: Socket]>()
  let pumps: (() => void)[] = []

  /** Hands on what comes from a socket, in order, as the state of the line has it. */
  function conduct(from: Socket, to: Socket, direction: Direction): void {
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
    conduct(near, far, 'requests')
    conduct(far, near, 'answers')
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
    mend() {
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
