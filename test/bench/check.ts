import { isDeepStrictEqual } from 'node:util'
import type { Row } from './rows.ts'
import type { Server } from './servers.ts'
import type { BenchRequest } from './workloads.ts'

/** A variant does not do what is being measured: its figures would mean nothing. */
export class WrongResponse extends Error {}

/** Asks once. @throws WrongAnswer when the answer is not 2xx, or holds other animals than it must */
export async function check(server: Server, { method, path, body, expected }: BenchRequest): Promise<void> {
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json' }
  const response = await fetch(server.base + path, { method, headers, ...(body && { body }) })
  const text = await response.text()
  const animals = response.ok ? animalsOf(JSON.parse(text)) : []
  // What was created has an id that nobody knows before.
  const wanted = expected.map((row, i) => ({ id: animals[i]?.id, ...row }))
  if (isDeepStrictEqual(animals, wanted)) return
  throw new WrongResponse(
    `${server.name} answers ${method} ${path} ${body ?? ''} with ${response.status} ${text.slice(0, 500)}`,
  )
}

/** The animals of an answer of either API, alike: ids as text, a status that there is not as null. */
function animalsOf(body: unknown): Row[] {
  if (Array.isArray(body)) return body.map(toRow)
  const object = (body ?? {}) as { data?: Record<string, unknown> } // what it is not shows in the comparison
  if (!object.data) return [toRow(object)]
  const answer = (object.data.pets ?? object.data.pet ?? object.data.createPet) as {
    nodes?: unknown[]
    animal?: unknown
  } | null
  return (answer?.nodes ?? [answer?.animal ?? answer]).map(toRow)
}

function toRow(animal: unknown): Row {
  const { id, name, categoryId, status } = (animal ?? {}) as Record<string, unknown> // as above
  return {
    id: String(id),
    name: String(name),
    categoryId: String(categoryId),
    status: (status ?? null) as Row['status'],
  }
}
