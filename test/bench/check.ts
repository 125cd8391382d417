import { isDeepStrictEqual } from 'node:util'
import type { Row } from './rows.ts'
import type { Server } from './servers.ts'
import type { BenchRequest } from './workloads.ts'

/** A variant does not do what is measured, so its measurements would be meaningless. */
export class WrongResponse extends Error {}

/** Sends one request. @throws WrongResponse if the response is not 2xx, or contains other animals than expected */
export async function check(server: Server, { method, path, body, expected }: BenchRequest): Promise<void> {
  // A kept connection may be closed by the server just as it is used again, minutes later.
  const headers = { authorization: `Bearer ${server.key}`, 'content-type': 'application/json', connection: 'close' }
  const response = await fetch(server.base + path, { method, headers, ...(body && { body }) })
  const text = await response.text()
  const animals = response.ok ? animalsOf(JSON.parse(text)) : []
  // The id of a created animal is not predictable.
  const wanted = expected.map((row, i) => ({ id: animals[i]?.id, ...row }))
  if (isDeepStrictEqual(animals, wanted)) return
  throw new WrongResponse(
    `${server.name} responds to ${method} ${path} ${body ?? ''} with ${response.status} ${text.slice(0, 500)}`,
  )
}

/** @returns the animals of a response of either API in one form: ids as text, null without a status */
function animalsOf(body: unknown): Row[] {
  if (Array.isArray(body)) return body.map(toRow)
  const object = (body ?? {}) as { data?: Record<string, unknown> } // what it is not shows in the comparison
  if (!object.data) return [toRow(object)]
  const data = (object.data.pets ?? object.data.pet ?? object.data.createPet) as {
    nodes?: unknown[]
    animal?: unknown
  } | null
  return (data?.nodes ?? [data?.animal ?? data]).map(toRow)
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
