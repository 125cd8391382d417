import { describe, expect } from 'vitest'
import { toSchema } from '../../src/rest/openapi/components.ts'
import { Int64 } from '../../src/store/contract.ts'
import { RESOURCES } from '../../src/resources.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'
import { deviations, exampleOf, paths } from './document.ts'

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
describe('the OpenAPI document describes the responses', () => {
  const operations = ['GET /v1/pets', 'POST /v1/pets', 'GET /v1/pets/1']

  /** Sends a request as raw text, and expects that the response conforms to the document. @returns its status */
  async function send(service: TestService, operation: string, remainder: string) {
    const [method = '', path = ''] = operation.split(' ')
    const sent = sendRaw(service.port, `${operation} HTTP/1.1\r\nHost: x\r\n${remainder}`)
    const { status, headers, text } = parseResponse(await sent)
    const body = text.slice(text.indexOf('\r\n\r\n') + 4)
    expect(deviations(method, path, new Response(null, { status, headers }), body)).toEqual([])
    return status
  }

  test.for(operations)('from before the operation %s', async (operation, { service }) => {
    const strict = await service.startPeer({ REQUEST_TIMEOUT_MS: 1_000, limits: { failedAuthentications: 1 } })
    const wrong = 'Authorization: Bearer wrong\r\nConnection: close\r\n\r\n'
    expect(await send(strict, operation, wrong)).toBe(401)
    expect(await send(strict, operation, wrong)).toBe(429)
    expect(await send(strict, operation, 'Late: ')).toBe(408)
  })
})
