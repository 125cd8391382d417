/** What Bun can do: its own HTTP server, its own client of PostgreSQL, and nothing between them. */
import { databaseUrl, host, isAllowed, poolSize, port } from './peer.ts'
import { createSqlStore } from './sql-store.ts'
import type { Animal, NewAnimal } from './store.ts'

type Handler = (req: Request & { params: { id: string } }) => Promise<Response>

/** What this uses of Bun: the types of all of it contradict those of Node. */
declare const Bun: {
  serve(options: { hostname: string; port: number; routes: Record<string, Record<string, Handler>> }): void
  SQL: new (options: { url: string; max: number }) => {
    unsafe(text: string, values: unknown[]): Promise<Animal<string>[]>
  }
}

const sql = new Bun.SQL({ url: databaseUrl, max: poolSize })
const store = createSqlStore(async (_name, text, values) =>
  (await sql.unsafe(text, values)).map((row) => ({ ...row, id: Number(row.id), categoryId: Number(row.categoryId) })),
)

const list: Handler = async (req) => {
  const { searchParams } = new URL(req.url)
  const limit = Number(searchParams.get('limit') ?? 20)
  const { animals, more } = await store.list(limit, searchParams.get('cursor') ?? undefined)
  const next = `</v1/pets?limit=${limit}&cursor=${animals.at(-1)?.id}>; rel="next"`
  return Response.json(animals, more ? { headers: { Link: next } } : undefined)
}

const create: Handler = async (req) => {
  const animal = await store.create((await req.json()) as NewAnimal) // not validated: it sets the bound
  return Response.json(animal, { status: 201, headers: { Location: `/v1/pets/${animal.id}` } })
}

const get: Handler = async ({ params }) => {
  const animal = await store.get(params.id)
  return animal ? Response.json(animal) : Response.json({ message: 'No such animal' }, { status: 404 })
}

/** Only for callers with a key. */
const guarded =
  (handler: Handler): Handler =>
  async (req) =>
    isAllowed(req.headers.get('authorization') ?? undefined)
      ? handler(req)
      : Response.json({ message: 'No key' }, { status: 401 })

Bun.serve({
  hostname: host,
  port,
  routes: {
    '/v1/pets': { GET: guarded(list), POST: guarded(create) },
    '/v1/pets/:id': { GET: guarded(get) },
  },
})
