import { expect } from 'vitest'
import type { TestService } from './harness.ts'

/** The id of the animal, or the error. */
type Outcome = { id: string } | { code: string; status: number }
type Create = (service: TestService, name: string) => Promise<Outcome>

/** An idempotency key that belongs to a name. */
const keyOf = (name: string) => name.replaceAll(/\W/g, '-')

async function createByRest(service: TestService, name: string, headers = {}): Promise<Outcome> {
  const response = await service.post({ name, categoryId: 1 }, headers)
  const body: { id: number } | { code: string; status: number } = await response.json()
  if ('id' in body) return { id: String(body.id) }
  expect(body.status).toBe(response.status)
  return { code: body.code, status: body.status }
}

async function createByGraphQL(service: TestService, name: string, key?: string): Promise<Outcome> {
  const mutation =
    'mutation ($n: String!, $k: String) { createPet(input: { name: $n, categoryId: 1 }, idempotencyKey: $k) { id } }'
  const { data, errors } = await service.graphql(mutation, { n: name, k: key })
  return errors?.[0]?.extensions ?? { id: String(data?.['createPet']?.['id']) }
}

/** createPet through each API, with and without an Idempotency-Key. */
export const creations: Record<string, Create> = {
  REST: createByRest,
  'REST with an Idempotency-Key': (service, name) => createByRest(service, name, { 'Idempotency-Key': keyOf(name) }),
  GraphQL: createByGraphQL,
  // Not the key of REST: PostgreSQL reports an error before it releases the lock of the key.
  'GraphQL with an Idempotency-Key': (service, name) => createByGraphQL(service, name, `graphql-${keyOf(name)}`),
}
