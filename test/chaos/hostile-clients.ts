import { largestAsset } from '../support/assets.ts'
import type { Behaviour } from './connections.ts'

/** As src/config/config.ts has them, but for idle connections, so that a run is not minutes longer. */
const [headersMs, requestMs] = [10_000, 15_000]
export const keepAliveMs = 15_000

/** Connections that are slow or idle, of one kind. */
export interface SlowGroup extends Behaviour {
  name: string
  /** They cost the client nothing: as many as there are of the size `idle`. */
  idle?: true
  /** When the service closes each, and the status that it sends before. */
  withinMs: number
  status: number
}

export function connectionGroups(key: string): SlowGroup[] {
  const head = `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  return [
    { name: 'connections that send nothing', idle: true, withinMs: headersMs, status: 408 },
    {
      name: 'connections that stay idle behind a request',
      idle: true,
      send: 'GET /livez HTTP/1.1\r\nHost: x\r\n\r\n',
      withinMs: keepAliveMs,
      status: 200,
    },
    {
      name: 'slow headers',
      send: 'GET /v1/pets HTTP/1.1\r\nHost: x\r\nX: ',
      drip: 'x',
      withinMs: headersMs,
      status: 408,
    },
    { name: 'slow bodies', send: `${head}Content-Length: 99\r\n\r\n`, drip: ' ', withinMs: requestMs, status: 408 },
    {
      name: 'slow bodies without a key',
      send: 'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n',
      drip: ' ',
      withinMs: requestMs,
      status: 401,
    },
    { name: 'half requests', send: `${head}Content-Length: 99\r\n\r\n{`, end: true, withinMs: 0, status: 400 },
  ]
}

/** A request for each address, and for each kind of response. */
export function unreadRequests(key: string): Record<string, string> {
  const withoutKey = ['/livez', '/readyz', '/openapi.json', '/docs', '/graphql', '/none', largestAsset]
  const withKey = ['/v1/pets?limit=100', '/v1/pets/1', '/v1/pets?limit=0', '/metrics']
  const get = (path: string, headers: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`
  const json = `Authorization: Bearer ${key}\r\nContent-Type: application/json\r\n`
  const post = (path: string, body: unknown) => {
    const text = JSON.stringify(body)
    return `POST ${path} HTTP/1.1\r\nHost: x\r\n${json}Content-Length: ${text.length}\r\n\r\n${text}`
  }
  const query = '{ pets(first: 100) { edges { cursor node { id name status } } } }'
  return {
    ...Object.fromEntries(withoutKey.map((path) => [`GET ${path}`, get(path, 'Accept: text/html, */*\r\n')])),
    'HEAD /graphql': 'HEAD /graphql HTTP/1.1\r\nHost: x\r\nAccept: text/html\r\n\r\n',
    ...Object.fromEntries(withKey.map((path) => [`GET ${path}`, get(path, `Authorization: Bearer ${key}\r\n`)])),
    'POST /v1/pets': post('/v1/pets', { name: 'x', categoryId: 1 }),
    'POST /graphql': post('/graphql', { query }),
  }
}
