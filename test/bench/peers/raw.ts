/** What Node can do: its own HTTP server, SQL by hand, and nothing between them. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { batched, host, isAllowed, pipelined, port } from './peer.ts'
import { createBatchedPgStore } from './pg-batched-store.ts'
import { createPgStore } from './pg-store.ts'
import { createPipelinedStore } from './pipelined-store.ts'
import type { NewAnimal } from './store.ts'

const store = batched
  ? createBatchedPgStore()
  : pipelined
    ? createPipelinedStore()
    : createPgStore<number>({ numbers: true })

async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
  if (!isAllowed(req.headers.authorization)) return send(res, 401, { message: 'No key' })
  const { pathname, searchParams } = new URL(req.url ?? '', 'http://localhost')
  if (pathname === '/v1/pets' && req.method === 'GET') {
    const limit = Number(searchParams.get('limit') ?? 20)
    const { animals, more } = await store.list(limit, searchParams.get('cursor') ?? undefined)
    if (more) res.setHeader('Link', `</v1/pets?limit=${limit}&cursor=${animals.at(-1)?.id}>; rel="next"`)
    return send(res, 200, animals)
  }
  if (pathname === '/v1/pets' && req.method === 'POST') {
    const animal = await store.create(JSON.parse(await textOf(req)) as NewAnimal) // not validated: it sets the bound
    res.setHeader('Location', `/v1/pets/${animal.id}`)
    return send(res, 201, animal)
  }
  const animal = await store.get(pathname.slice('/v1/pets/'.length))
  return animal ? send(res, 200, animal) : send(res, 404, { message: 'No such animal' })
}

function send(res: ServerResponse, status: number, body: object): void {
  const json = JSON.stringify(body)
  res.writeHead(status, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(json) }).end(json)
}

async function textOf(req: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of req.setEncoding('utf8')) text += chunk
  return text
}

createServer((req, res) => {
  handle(req, res).catch((error: unknown) => send(res, 500, { message: String(error) }))
}).listen(port, host)
