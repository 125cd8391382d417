import { Agent, type IncomingMessage, request } from 'node:http'

/** What came of a request. Without an answer the status is 0, and the code is Node's. */
export interface Reply {
  status: number
  body: string
  headers: IncomingMessage['headers']
  ms: number
  code?: string
}

/** A keep-alive HTTP client that never throws: whatever happens is a reply. */
export interface Client {
  send(method: string, path: string, body?: string, headers?: Record<string, string>): Promise<Reply>
  close(): void
}

/** @param connections most that it opens at once; further requests wait */
export function createClient(port: number, key: string, connections = 64): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, noDelay: true })
  return {
    close: () => agent.destroy(),
    send(method, path, body, more = {}) {
      const began = performance.now()
      const headers = {
        Authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }),
        ...more,
      }
      return new Promise((resolve) => {
        const failed = (error: NodeJS.ErrnoException) =>
          resolve({
            status: 0,
            body: '',
            headers: {},
            ms: performance.now() - began,
            code: error.code ?? error.message,
          })
        const req = request({ agent, host: '127.0.0.1', port, method, path, headers }, (res) => {
          let text = ''
          res.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
          res.on('error', failed)
          res.on('end', () =>
            resolve({ status: res.statusCode ?? 0, body: text, headers: res.headers, ms: performance.now() - began }),
          )
        })
        req.on('error', failed).end(body)
      })
    },
  }
}

export type Api = 'rest' | 'graphql'

/** What a client knows of a creation: 503, or a connection that was refused, is a promise that nothing happened. */
export type Outcome = 'acknowledged' | 'refused' | 'unknown' | 'in flight' | 'wrong'

export interface Creation {
  outcome: Outcome
  /** Of the animal, when it was acknowledged. */
  id?: string
  reply: Reply
}

const mutation = 'mutation($i:NewPet!,$k:String){createPet(input:$i,idempotencyKey:$k){id name}}'

/** createPet through a face. @param idempotencyKey an Idempotency-Key */
export async function createPet(client: Client, api: Api, name: string, idempotencyKey?: string): Promise<Creation> {
  const pet = { name, categoryId: api === 'rest' ? 1 : '1' }
  const reply =
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
  const status = statusOf(reply)
  const id = status === 201 ? /"id":"?(\d+)"?/.exec(reply.body)?.[1] : undefined
  const echoed = reply.body.includes(`"name":${JSON.stringify(name)}`)
  if (id !== undefined && echoed) return { outcome: 'acknowledged', id, reply }
  return { outcome: outcomeOf(status, reply.code), reply }
}

/** The status of a creation, the same whichever face it went through. */
export function statusOf({ status, body }: Reply): number {
  if (status !== 200) return status
  return /"createPet":\{/.test(body) ? 201 : Number(/"status":(\d{3})/.exec(body)?.[1])
}

function outcomeOf(status: number, code: string | undefined): Outcome {
  if (status === 503 || code === 'ECONNREFUSED') return 'refused'
  if (status === 504 || status === 0) return 'unknown'
  return status === 409 ? 'in flight' : 'wrong'
}
