import { isLosslessNumber, LosslessNumber, parse, stringify } from 'lossless-json'
import { type PetStoreError, retryDelayMs } from './errors.ts'

const INT64 = new Set(['id', 'categoryId'])

/** Makes strings of int64 numbers, since JSON.parse would round them. */
const quoteInt64 = (json: string) =>
  stringify(parse(json, (name, value) => (INT64.has(name) && isLosslessNumber(value) ? value.value : value))) ?? ''

/** Makes numbers of int64 strings, as the service requires them. */
const unquoteInt64 = (json: string) =>
  stringify(parse(json, (name, value) => (INT64.has(name) && isInteger(value) ? new LosslessNumber(value) : value))) ??
  ''

const isInteger = (value: unknown): value is string => typeof value === 'string' && /^-?\d+$/.test(value)

async function send(request: Request): Promise<Response> {
  const response = await fetch(request)
  if (!response.headers.get('Content-Type')?.includes('json')) {
    if (response.status >= 400) throw new Error(`HTTP ${response.status}`) // from a gateway, not from the service
    return response
  }
  const json = quoteInt64(await response.text())
  // The methods are replaced because a new Response would have no `url`, which `Link` is relative to.
  return Object.assign(response, { text: async () => json, json: async () => JSON.parse(json) })
}

/** For generated clients: int64 members are strings, and a request is repeated unless that could write twice. */
export async function petStoreFetch(request: Request): Promise<Response> {
  const text = await request.text()
  const changes = { body: text ? unquoteInt64(text) : null }
  const mayRepeat = request.method === 'GET' || request.headers.has('Idempotency-Key')
  for (let attempt = 1; ; attempt++) {
    const response = await send(new Request(request, changes)).catch((failure: unknown) => {
      if (request.signal.aborted) throw failure
      return Response.json({ code: 'NO_RESPONSE', message: String(failure), status: 504 }, { status: 504 })
    })
    const error: PetStoreError | undefined = response.status < 400 ? undefined : await response.json()
    const delayMs = mayRepeat && error && retryDelayMs(error, attempt, response.headers.get('Retry-After'))
    if (!delayMs) return response
    await new Promise((resolve) => setTimeout(resolve, delayMs))
  }
}

/** @returns the cursor of `Link: <…>; rel="next"` */
export function nextCursor({ headers, url }: Response): string | undefined {
  const [, reference] = /<([^>]*)>; rel="next"/.exec(headers.get('Link') ?? '') ?? []
  return reference && (new URL(reference, url).searchParams.get('cursor') ?? undefined)
}
