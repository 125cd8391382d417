import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Spectral, type ISpectralDiagnostic, type RulesetDefinition } from '@stoplight/spectral-core'
import owasp from '@stoplight/spectral-owasp-ruleset'
import { oas } from '@stoplight/spectral-rulesets'
import { describe, expect } from 'vitest'
import { loadConfig } from '../../src/config.ts'
import { type TestService, testWithService as test } from '../support/harness.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'
import { deviations, document, exampleOf, paths } from './document.ts'
import { waitFor } from '../support/timeouts.ts'

/** OWASP rules that do not apply, each with its reason. */
const disabledRules = {
  // The contract defines the id as an int64, and every read needs a key.
  'owasp:api1:2023-no-numeric-ids': 'off',
  // The contract defines int64 without further bounds, and tools would round 2^63 - 1 to a double.
  'owasp:api4:2023-integer-limit': 'off',
  // The service does not allow cross-origin requests, so no response has Access-Control headers.
  'owasp:api8:2023-define-cors-origin': 'off',
} as const

describe('the OpenAPI document', () => {
  test('has no problems with the recommended rules of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] })
    const problems = await lintFromString({ source: JSON.stringify(document), config })
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
  })

  test('has no problems with the recommended rules of Spectral', async () => {
    expect(await spectral({ extends: [[oas as RulesetDefinition, 'recommended']] })).toEqual([])
  })

  test('has no problems with the OWASP rules of Spectral, except responses before rate limiting', async () => {
    // The package declares its rules with the types of its own copy of Spectral.
    const problems = await spectral({ extends: [[owasp as unknown as RulesetDefinition, 'all']], rules: disabledRules })
    // Responses that are sent before rate limiting have no RateLimit headers. 408 of createPet may have them, since the
    // application also sends it when the body times out.
    const get = ['get.responses.401', 'get.responses.408', 'get.responses.417', 'get.responses.431']
    const post = ['post.responses.401', 'post.responses.417', 'post.responses.431']
    expect(problems.map(([code, , path]) => [code, path])).toEqual(
      [
        ...[...get, ...post].map((response) => `paths./pets.${response}`),
        ...get.map((response) => `paths./pets/{petId}.${response}`),
      ].map((path) => ['owasp:api4:2023-rate-limit', `${path}.headers`]),
    )
  })
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
    await service.database.prisma.animal.create({ data: { id: 42n, name: 'Rex', categoryId: 7n } })
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

describe('the OpenAPI document describes the responses', () => {
  const operations = [
    { method: 'GET', path: '/v1/pets' },
    { method: 'POST', path: '/v1/pets' },
    { method: 'GET', path: '/v1/pets/1' },
  ]

  /** Sends a request as raw text, and expects that the response conforms to the document. */
  async function send(service: TestService, method: string, path: string, remainder: string) {
    const { status, headers, text } = parseResponse(
      await sendRaw(service.port, `${method} ${path} HTTP/1.1\r\nHost: x\r\n${remainder}`),
    )
    const response = new Response(null, { status, headers })
    expect(deviations(method, path, response, text.slice(text.indexOf('\r\n\r\n') + 4))).toEqual([])
    return response
  }
  const { rateLimits } = loadConfig({})
  const shortTimeouts = { timeouts: { headersMs: 1_000, requestMs: 1_000 } }

  test.for(operations)('of Node’s HTTP server to $method $path', async ({ method, path }, { service }) => {
    expect((await send(service, method, path, 'no header\r\n\r\n')).status).toBe(400)
    expect((await send(service, method, path, `X: ${'x'.repeat(20_000)}\r\n\r\n`)).status).toBe(431)
    expect((await send(await service.startPeer(shortTimeouts), method, path, 'Late: ')).status).toBe(408)
  })

  test('of createPet to a body that times out', async ({ service }) => {
    const peer = await service.startPeer(shortTimeouts)
    // Caches the key first, so that its lookup takes no part of the short timeout.
    await waitFor(async () => expect((await peer.send('/v1/pets')).status).toBe(200))
    const lines = [`Authorization: Bearer ${service.key}`, 'Content-Type: application/json', 'Content-Length: 9']
    const response = await send(peer, 'POST', '/v1/pets', `${lines.join('\r\n')}\r\n\r\n{`)
    expect([response.status, response.headers.has('ratelimit')]).toEqual([408, true])
  })

  test.for(operations)('to $method $path before rate limiting', async ({ method, path }, { service }) => {
    expect((await send(service, method, path, 'Expect: x\r\n\r\n')).status).toBe(417)
    expect((await send(service, method, path, 'Connection: close\r\n\r\n')).status).toBe(401)
  })

  test.for(operations)(
    'to $method $path after too many failed authentications',
    async ({ method, path }, { service }) => {
      const strict = await service.startPeer({ rateLimits: { ...rateLimits, wrongKeys: 1 } })
      const headers = 'Authorization: Bearer wrong\r\nConnection: close\r\n\r\n'
      expect((await send(strict, method, path, headers)).status).toBe(401)
      expect((await send(strict, method, path, headers)).status).toBe(429)
    },
  )
})

async function spectral(ruleset: RulesetDefinition): Promise<[code: string | number, message: string, path: string][]> {
  const linter = new Spectral()
  linter.setRuleset(ruleset)
  const problems: ISpectralDiagnostic[] = await linter.run(JSON.stringify(document))
  return problems.map(({ code, message, path }) => [code, message, path.join('.')])
}
