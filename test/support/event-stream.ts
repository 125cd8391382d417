import { type ClientRequest, type IncomingMessage, request } from 'node:http'
import { onTestFinished } from 'vitest'
import { bearer, type TestService } from './harness.ts'
import { waitUntil } from './timeouts.ts'

/** A response to a POST /graphql that is read as it arrives. */
export type EventStream = Awaited<ReturnType<typeof openStream>>

/** Sends a subscription, and waits for the headers of the response. It is closed after the test. */
export async function openStream(
  { port, key }: Pick<TestService, 'port' | 'key'>,
  { query, variables, headers = {} }: { query: string; variables?: object; headers?: Record<string, string> },
) {
  const body = JSON.stringify({ query, variables })
  const client: ClientRequest = request({
    port,
    host: '127.0.0.1',
    path: '/graphql',
    method: 'POST',
    agent: false,
    headers: { ...bearer(key), 'Content-Type': 'application/json', Accept: 'text/event-stream', ...headers },
  })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    client.on('response', resolve).on('error', reject).end(body)
  })
  const parser = new EventParser()
  const stream = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    response,
    /** What has arrived. */
    text: '',
    /** Whether the response has ended: complete, or because the connection was closed. */
    ended: undefined as 'complete' | 'cut' | undefined, // set below
    events: () => parser.events,
    /** Waits for a number of events. @returns all events */
    async received(count: number): Promise<EventParser['events']> {
      await waitUntil(() => parser.events.length >= count || stream.ended)
      return parser.events
    },
    close: () => void client.destroy(),
  }
  response.setEncoding('utf8').on('data', (text: string) => {
    stream.text += text
    parser.add(text)
  })
  response.on('error', () => {}).on('close', () => (stream.ended = response.complete ? 'complete' : 'cut'))
  onTestFinished(stream.close)
  return stream
}

/** Parses a stream of server-sent events, piece by piece. */
export class EventParser {
  /** The complete events, without comments. */
  readonly events: { id: string | undefined; event: string | undefined; data: string }[] = []
  #incomplete = ''

  add(text: string): void {
    const blocks = (this.#incomplete + text).split('\n\n')
    this.#incomplete = blocks.pop() ?? ''
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1]
      const data = field('data')
      if (data !== undefined) this.events.push({ id: field('id'), event: field('event'), data })
    }
  }
}
