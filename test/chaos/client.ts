import { Agent, type IncomingMessage, request } from 'node:http'

/** The response to a request. If none was received, the status is 0, and `code` is the error code of Node. */
export interface ClientResponse {
  status: number
  body: string
  headers: IncomingMessage['headers']
  ms: number
  code?: string
}

/** A keep-alive HTTP client that returns errors as a ClientResponse, and never throws. */
export interface Client {
  send(method: string, path: string, body?: string, headers?: Record<string, string>): Promise<ClientResponse>
  close(): void
}

/**
 * As Node's own agent does. Without it, a proxy that closes an idle connection can lose a request that is just being sent
 * (RFC 9112 §9.5).
 */
const IDLE_TIMEOUT_MS = 5_000

/** @param connections maximum number of open connections; further requests wait */
export function createClient(port: number, key: string, connections = 64): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, noDelay: true, timeout: IDLE_TIMEOUT_MS })
  return {
    close: () => agent.destroy(),
    send(method, path, body, extraHeaders = {}) {
      const startedAt = performance.now()
      const headers = {
        Authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...extraHeaders,
      }
      return new Promise((resolve) => {
        const failed = (error: NodeJS.ErrnoException) =>
          resolve({
            status: 0,
            body: '',
            headers: {},
            ms: performance.now() - startedAt,
            code: error.code ?? error.message,
          })
        const req = request({ agent, host: '127.0.0.1', port, method, path, headers }, (res) => {
          let text = ''
          res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          res.on('error', failed)
          res.on('end', () =>
            resolve({
              status: res.statusCode ?? 0,
              body: text,
              headers: res.headers,
              ms: performance.now() - startedAt,
            }),
          )
        })
        req.on('error', failed).end(body)
      })
    },
  }
}

export type Api = 'rest' | 'graphql'

/** The outcome of createPet for a client. "rejected" (503, or no connection) guarantees that no animal was created. */
export type Outcome = 'acknowledged' | 'rejected' | 'unknown' | 'in flight' | 'wrong'

export interface Creation {
  outcome: Outcome
  /** The animal's id, if it was acknowledged. */
  id?: string
  response: ClientResponse
}

const mutation = 'mutation($i:NewPet!,$k:String){createPet(input:$i,idempotencyKey:$k){id name}}'

/** Sends createPet through one of the APIs. */
export async function createPet(
  client: Client,
  api: Api,
  name: string,
  idempotencyKey?: string,
  status?: string,
): Promise<Creation> {
  const pet = { name, categoryId: api === 'rest' ? 1 : '1', status }
  const response =
    api === 'rest'
      ? await client.send(
          'POST',
          '/v1/pets',
          JSON.stringify(pet),
          idempotencyKey ? { 'Idempotency-Key': idempotencyKey } : {},
        )
      : await client.send(
          'POST',
          '/graphql',
          JSON.stringify({ query: mutation, variables: { i: pet, k: idempotencyKey } }),
        )
  const responseStatus = statusOf(response)
  const id = responseStatus === 201 ? /"id":"?(\d+)"?/.exec(response.body)?.[1] : undefined
  const hasName = response.body.includes(`"name":${JSON.stringify(name)}`)
  if (id !== undefined && hasName) return { outcome: 'acknowledged', id, response }
  return { outcome: outcomeOf(responseStatus, response.code), response }
}

/** @returns the status of the response to createPet, in terms of the REST API */
export function statusOf({ status, body }: ClientResponse): number {
  if (status !== 200) return status
  return /"createPet":\{/.test(body) ? 201 : Number(/"status":(\d{3})/.exec(body)?.[1])
}

function outcomeOf(status: number, code: string | undefined): Outcome {
  if (status === 503 || code === 'ECONNREFUSED') return 'rejected'
  if (status === 504 || status === 0) return 'unknown'
  return status === 409 ? 'in flight' : 'wrong'
}
