import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

/** A request as the service received it, and its response. */
export interface Exchange {
  at: number
  body: string
  idempotencyKey: string | undefined
  response: { status: number; body: string }
}

export interface Proxy {
  base: string
  /** Requests that create an animal. */
  creations: Exchange[]
  /** Requests of all kinds. */
  exchanges: Exchange[]
  /** Closes the connection instead of forwarding the next response to a creation. */
  loseNextCreation: boolean
}

/** Starts a proxy in front of a service, for this test. It records requests and can lose responses. */
export async function startProxy(target: string): Promise<Proxy> {
  const proxy: Proxy = { base: '', creations: [], exchanges: [], loseNextCreation: false }
  const server = createServer(async (req, res) => {
    const [at, body] = [Date.now(), await text(req)]
    const { host: _host, connection: _connection, 'content-length': _length, ...headers } = req.headers
    const init = { method: req.method ?? 'GET', headers: headers as Record<string, string> } // none is sent twice
    const response = await fetch(target + req.url, { ...init, ...(body && { body }) })
    const exchange: Exchange = {
      at,
      body,
      idempotencyKey: headers['idempotency-key']?.toString() ?? /"idempotencyKey":"([^"]+)"/.exec(body)?.[1],
      response: { status: response.status, body: await response.text() },
    }
    proxy.exchanges.push(exchange)
    if (exchange.idempotencyKey) {
      proxy.creations.push(exchange)
      if (proxy.loseNextCreation) {
        proxy.loseNextCreation = false
        return void res.destroy()
      }
    }
    for (const name of ['content-type', 'link', 'retry-after', 'location']) {
      const value = response.headers.get(name)
      if (value !== null) res.setHeader(name, value)
    }
    res.writeHead(exchange.response.status).end(exchange.response.body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo // of a TCP server
  proxy.base = `http://127.0.0.1:${port}`
  return proxy
}
