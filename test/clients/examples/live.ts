import type * as gql from '../generated/codegen/graphql.ts'
import { type PetStoreError, retryDelayMs } from './errors.ts'

export type Edge = gql.ListEdgeFragment

/** Receives what a list is to show. */
export interface View {
  show(edges: Edge[]): void
  /** The list no longer grows, because the key is not valid any more, for example. */
  fail(error: PetStoreError): void
}

/** Newest first. An event may be on the page already, or belong between two animals of it. */
export function mergeEdge(edges: Edge[], edge: Edge): Edge[] {
  const at = edges.findIndex(({ node }) => BigInt(node.id) <= BigInt(edge.node.id))
  if (at === -1) return [...edges, edge]
  return edges[at]?.node.id === edge.node.id ? edges : edges.toSpliced(at, 0, edge)
}

/** Begins one subscription, which calls `next` for each event and `end` when it is over. Returns what stops it. */
type Subscribe = (after: string, next: (edge: Edge) => void, end: (error?: PetStoreError) => void) => () => void

const MAX_DELAY_MS = 30_000

/** Subscribes again, after the last cursor, whenever a subscription ends. @returns stops it */
export function follow(after: string, subscribe: Subscribe, next: (edge: Edge) => void, fail: View['fail']) {
  let [stop, stopped, failures] = [() => {}, false, 0]
  function connect() {
    const startedAt = Date.now()
    let ended = false
    function end(error?: PetStoreError) {
      if (ended || stopped) return // clients may call it after they were stopped
      ended = true
      stop()
      if (error && retryDelayMs(error, 1) === undefined) return fail(error)
      if (Date.now() - startedAt > MAX_DELAY_MS) failures = 0
      // Random, so that clients whose connections ended together do not return together.
      const delayMs = Math.min(1_000 * 2 ** failures++, MAX_DELAY_MS) * (0.5 + Math.random() / 2)
      const timer = setTimeout(connect, delayMs)
      stop = () => clearTimeout(timer)
    }
    function receive(edge: Edge) {
      if (ended || stopped) return
      ;[after, failures] = [edge.cursor, 0]
      next(edge)
    }
    stop = subscribe(after, receive, end)
  }
  connect()
  return () => {
    stopped = true
    stop()
  }
}

/** A fetch for streams: its response fails when it is silent, and an error arrives when a retry is allowed. */
export function createStreamFetch(maxSilenceMs = 30_000): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const retryAfter = Number(response.headers.get('Retry-After') ?? 0)
    if (retryAfter) await new Promise((resolve) => setTimeout(resolve, retryAfter * 1_000))
    const isStream = /event-stream|multipart/.test(response.headers.get('Content-Type') ?? '')
    return isStream ? new Response(response.body?.pipeThrough(failWhenSilent(maxSilenceMs)), response) : response
  }
}

/** The service sends something every 12 seconds. A connection that sends nothing is dead: after sleep, for example. */
function failWhenSilent(maxSilenceMs: number) {
  let timer: ReturnType<typeof setTimeout>
  function restart(controller: TransformStreamDefaultController) {
    clearTimeout(timer)
    timer = setTimeout(() => controller.error(new Error('The stream is silent.')), maxSilenceMs)
  }
  return new TransformStream<Uint8Array, Uint8Array>({
    start: restart,
    transform(chunk, controller) {
      restart(controller)
      controller.enqueue(chunk)
    },
    flush: () => clearTimeout(timer),
  })
}
