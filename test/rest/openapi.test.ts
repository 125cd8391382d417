import { describe, expect } from 'vitest'
import { toSchema } from '../../src/rest/openapi/components.ts'
import { Int64 } from '../../src/store/types.ts'
import { RESOURCES } from '../../src/resources.ts'
import { expectCase } from '../catalogue/case.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { exampleOf, paths } from './document.ts'

test('an int64 is documented as one with rules of its own, too', () => {
  const rules = Int64.refine((n) => n > 0n).meta({ description: 'A number.' })
  const schema = { type: 'integer', format: 'int64', description: 'A number.' }
  expect(toSchema(rules)).toEqual({ $schema: expect.any(String), ...schema })
})

describe('the examples of the OpenAPI document', () => {
  const examples = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId, parameters, requestBody }]) => {
      const bodies = requestBody?.content['application/json'].examples ?? { none: { summary: 'no body' } }
      return Object.values(bodies).map((body) => ({ operationId, path, method, parameters, ...body }))
    }),
  )

  test.for(examples)('of $operationId form a valid request ($summary)', async (example, { service }) => {
    const { path, method, parameters, value } = example
    await createExamples(service)
    const values = (location: string) =>
      parameters
        .filter((parameter) => parameter.in === location)
        .map((parameter): [string, string] => [parameter.name, exampleOf(parameter)])
    const resolved = values('path').reduce((path, [name, value]) => path.replace(`{${name}}`, value), path)
    const response = await service.send(`/v1${resolved}?${new URLSearchParams(values('query'))}`, {
      method: method.toUpperCase(),
      headers: { 'Content-Type': 'application/json', ...Object.fromEntries(values('header')) },
      ...(value !== undefined && { body: JSON.stringify(value) }),
    })
    expect(response.status).toBe(method === 'post' ? 201 : 200)
  })
})

/** Creates the item of each resource to which examples refer, from the example of its body. */
async function createExamples({ database, send }: TestService): Promise<void> {
  for (const { resource, rest } of RESOURCES) {
    for (const { path } of rest.operations) {
      const [id] = paths[path]?.['get']?.parameters.filter((parameter) => parameter.in === 'path') ?? []
      if (!id) continue
      const collection = path.replace(/\/\{.*/, '')
      const [body] = Object.values(paths[collection]?.['post']?.requestBody?.content['application/json'].examples ?? {})
      await database.pool.query('SELECT setval($1, $2, false)', [`${resource.table}_id_seq`, exampleOf(id)])
      const headers = { 'Content-Type': 'application/json' }
      const init = { method: 'POST', headers, body: JSON.stringify(body?.value) }
      expect((await send(`/v1${collection}`, init)).status).toBe(201)
    }
  }
}

// Others are in test/catalogue/.
test.for(['GET /v1/pets', 'POST /v1/pets', 'GET /v1/pets/1'])(
  'the OpenAPI document describes the responses from before the operation %s',
  async (operation, { service }) => {
    const { port, key } = await service.startPeer({ REQUEST_TIMEOUT_MS: 1_000, limits: { failedAuthentications: 1 } })
    const send = (head: string, status: number, code: string) => {
      const bytes = () => Buffer.from(`${operation} HTTP/1.1\r\nHost: x\r\n${head}`)
      return expectCase({ title: operation, bytes, status, code }, port, key)
    }
    const wrong = 'Authorization: Bearer wrong\r\nConnection: close\r\n\r\n'
    await send(wrong, 401, 'UNAUTHENTICATED')
    await send(wrong, 429, 'RESOURCE_EXHAUSTED')
    await send('Late: ', 408, 'REQUEST_TIMEOUT')
  },
)
