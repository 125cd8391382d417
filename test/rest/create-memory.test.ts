import type { Request, Response } from 'express'
import { expect, test } from 'vitest'
import { Deadline } from '../../src/http/deadline.ts'
import { animals } from '../../src/pets/animal.ts'
import { handleCreate } from '../../src/rest/handlers.ts'
import type { OperationDependencies } from '../../src/rest/operation.ts'
import { usedHeapBytes } from '../support/heap.ts'
import { waitUntil } from '../support/timeouts.ts'

/** A request as far as the handler reads it. */
function createRequest() {
  const body = { name: 'Rex', categoryId: 1, unknown: 'members are allowed' }
  return { headers: {}, deadline: new Deadline(60_000), body } as unknown as Request
}

test('a creation that waits for the database does not keep its parsed body', async () => {
  const services = { of: () => ({ create: () => new Promise(() => {}) }) }
  const handle = handleCreate(animals, 'pets')({ services } as unknown as OperationDependencies, '/v1/') // it reads no more
  const req = createRequest()
  const body = new WeakRef(req.body)
  void handle(req, {} as Response)
  await waitUntil(() => usedHeapBytes() > 0 && body.deref() === undefined) // collects garbage
  expect(req.deadline.databaseMs).toBeGreaterThan(0) // the creation still waits
})
