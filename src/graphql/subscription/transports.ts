import type { Request } from 'express'
import { ApiError } from '../../errors.ts'

/** How results are written to a response that does not end. */
export interface Transport {
  contentType: string
  begin: string
  /** Keeps proxies from closing an idle connection. */
  heartbeat: string
  /** @param json a result @param cursor identifies the event, for `Last-Event-ID` */
  result(json: string, cursor?: string): string
  /** Says that the operation is complete: clients do not reconnect. */
  complete: string
}

/** GraphQL over SSE, distinct connections mode. It sends no `retry:`, because older clients fail when they receive it. */
export const SSE: Transport = {
  contentType: 'text/event-stream; charset=utf-8',
  begin: ':\n\n',
  heartbeat: ':\n\n',
  result: (json, cursor) => `${cursor === undefined ? '' : `id: ${cursor}\n`}event: next\ndata: ${json}\n\n`,
  complete: 'event: complete\ndata: \n\n',
}

const part = (json: string) => `\r\nContent-Type: application/json\r\n\r\n${json}\r\n--graphql`

/** The protocol of Apollo Client for subscriptions over HTTP. Each part ends with the delimiter of the next. */
const MULTIPART: Transport = {
  contentType: 'multipart/mixed;boundary="graphql";subscriptionSpec="1.0"',
  begin: '\r\n--graphql',
  heartbeat: part('{}'),
  result: (json) => part(`{"payload":${json}}`),
  complete: '--\r\n',
}

/** The transports by media type, in the order of the service's preference. `Accept` may lack some of the parameters. */
const TRANSPORTS: Record<string, Transport> = { [SSE.contentType]: SSE, [MULTIPART.contentType]: MULTIPART }

/** A wildcard in `Accept` does not suffice: clients that send it rarely expect a response without end. */
export function findTransport(req: Request): Transport | undefined {
  const accepted = new Set(req.accepts().map((type) => type.toLowerCase()))
  const named = Object.keys(TRANSPORTS).filter((type) => accepted.has(type.replace(/;.*/, '')))
  const type = named.length > 0 && req.accepts(named)
  return type ? TRANSPORTS[type] : undefined
}

export function requireTransport(req: Request): Transport {
  const transport = findTransport(req)
  if (transport) return transport
  throw new ApiError('NOT_ACCEPTABLE', 'The response to a subscription is a stream: send Accept: text/event-stream.')
}
