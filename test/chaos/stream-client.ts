import { type IncomingMessage, request } from 'node:http'

/** How a transport names itself, how its events end, and where their result is. */
const TRANSPORTS = {
  sse: { accept: 'text/event-stream', end: '\n\n', result: /^data: (\{.*)$/m },
  multipart: {
    accept: 'multipart/mixed;subscriptionSpec=1.0',
    end: '\r\n--graphql',
    result: /^\{"payload":(.*)\}\r?$/m,
  },
}

export type StreamTransport = keyof typeof TRANSPORTS

export interface StreamRequest {
  port: number
  key: string
  transport?: StreamTransport
  /** Fields of the animal, besides its id. */
  selection?: string
  after?: string
  status?: string | undefined
  lastEventId?: string
}

export interface StreamHandlers {
  onEvent(id: bigint, cursor: string): void
  /** The operation is complete, or an event has errors. */
  onProblem(event: string): void
}

/** One connection of a subscription to petCreated. */
export interface StreamConnection {
  /** Resolves when the stream has begun, or the request is rejected. @returns whether it has begun */
  opened: Promise<boolean>
  /** Resolves when it has ended, with the status of the response; 0 without one. */
  ended: Promise<number>
  pause(): void
  resume(): void
  close(): void
}

interface Result {
  data?: { petCreated: { cursor: string; node: { id: string } } }
}

export function connectStream(options: StreamRequest, handlers: StreamHandlers): StreamConnection {
  const { port, key, transport = 'sse', selection = '', after, status, lastEventId } = options
  const query = `subscription($after: String, $status: PetStatus) { petCreated(after: $after, status: $status) { cursor node { id ${selection} } } }`
  const headers = {
    Authorization: `Bearer ${key}`,
    'Content-Type': 'application/json',
    Accept: TRANSPORTS[transport].accept,
    ...(lastEventId !== undefined && { 'Last-Event-ID': lastEventId }),
  }
  const client = request({ host: '127.0.0.1', port, method: 'POST', path: '/graphql', agent: false, headers })
  let response: IncomingMessage | undefined
  const opened = new Promise<boolean>((resolve) => {
    client.once('response', ({ statusCode }) => resolve(statusCode === 200)).once('error', () => resolve(false))
  })
  const ended = new Promise<number>((resolve) => {
    client.once('error', () => resolve(response?.statusCode ?? 0))
    client.once('response', (received) => {
      response = received
      received.once('error', () => {}).once('close', () => resolve(received.statusCode ?? 0))
      if (received.statusCode !== 200) return void received.resume()
      readEvents(received, transport, handlers)
    })
  })
  client.end(JSON.stringify({ query, variables: { after, status } }))
  return {
    opened,
    ended,
    pause: () => void response?.pause(),
    resume: () => void response?.resume(),
    close: () => void client.destroy(),
  }
}

/** Reads complete events only: a client that was cut off in one continues before it. */
function readEvents(response: IncomingMessage, transport: StreamTransport, handlers: StreamHandlers): void {
  const { onEvent, onProblem } = handlers
  const { end, result } = TRANSPORTS[transport]
  let rest = ''
  response.setEncoding('utf8').on('data', (chunk: string) => {
    const events = (rest + chunk).split(end)
    rest = events.pop() ?? ''
    for (const event of events) {
      const text = result.exec(event)?.[1]
      const created = text && (JSON.parse(text) as Result).data?.petCreated // the answer to this query
      if (created) onEvent(BigInt(created.node.id), created.cursor)
      else if (text || /^event: complete|^--/m.test(event)) onProblem(event)
    }
    if (rest.startsWith('--\r\n')) onProblem(rest) // the end of a multipart response
  })
}
