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
const waived = {
  // The contract's identifier is an int64; a key guards every animal.
  'owasp:api1:2023-no-numeric-ids': 'off',
  // The contract's integers are int64 without further bounds, and 2^63 - 1 does not survive a tool's doubles.
  'owasp:api4:2023-integer-limit': 'off',
  // No Origin is configured, so no answer has Access-Control headers: browsers of other sites are kept out.
  'owasp:api8:2023-define-cors-origin': 'off',
} as const

describe('the OpenAPI document', () => {
  test('is clean under the recommended rules of Redocly', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] })
    const problems = await lintFromString({ source: JSON.stringify(document), config })
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([])
  })

  test('is clean under the recommended rules of Spectral', async () => {
    expect(await spectral({ extends: [[oas as RulesetDefinition, 'recommended']] })).toEqual([])
  })

  test('is clean under the OWASP rules of Spectral, but for what the contract itself says', async () => {
    // The package types its rules with a Spectral of its own.
    const problems = await spectral({ extends: [[owasp as unknown as RulesetDefinition, 'all']], rules: waived })
    // Responses that are sent before the rate limiter is asked have no RateLimit headers. 408 of createPet may have them:
    // the application sends it, too, when the body is late.
    const get = ['get.responses.401', 'get.responses.408', 'get.responses.417', 'get.responses.431']
    const post = ['post.responses.401', 'post.responses.417', 'post.responses.431']
    expect(problems.map(([code, , path]) => [code, path])).toEqual(
      [...[...get, ...post].map((end) => `paths./pets.${end}`), ...get.map((end) => `paths./pets/{petId}.${end}`)].map(
        (path) => ['owasp:api4:2023-rate-limit', `${path}.headers`],
      ),
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

  test.for(examples)('of $operationId work together ($summary)', async (example, { service }) => {
    const { path, method, parameters, value } = example
    await service.database.prisma.animal.create({ data: { id: 42n, name: 'Rex', categoryId: 7n } })
    const values = (place: string) =>
      parameters.filter((one) => one.in === place).map((one): [string, string] => [one.name, exampleOf(one)])
    const resolved = values('path').reduce((path, [name, value]) => path.replace(`{${name}}`, value), path)
    const response = await service.send(`/v1${resolved}?${new URLSearchParams(values('query'))}`, {
      method: method.toUpperCase(),
      headers: { 'Content-Type': 'application/json', ...Object.fromEntries(values('header')) },
      ...(value !== undefined && { body: JSON.stringify(value) }),
    })
    expect(response.status).toBe(method === 'post' ? 201 : 200)
  })
})

describe('the OpenAPI document holds for responses', () => {
  const operations = [
    ['GET', '/v1/pets'],
    ['POST', '/v1/pets'],
    ['GET', '/v1/pets/1'],
  ] as const

  /** Sends a request line and what follows it, as bytes, and holds the response against the document. */
  async function send(service: TestService, method: string, path: string, rest: string) {
    const { status, headers, text } = parseResponse(
      await sendRaw(service.port, `${method} ${path} HTTP/1.1\r\nHost: x\r\n${rest}`),
    )
    const response = new Response(null, { status, headers })
    expect(deviations(method, path, response, text.slice(text.indexOf('\r\n\r\n') + 4))).toEqual([])
    return response
  }
  const { rateLimits } = loadConfig({})
  const hasty = { timeouts: { headersMs: 1_000, requestMs: 1_000 } }

  test.for(operations)('that Node’s HTTP server sends to %s %s', async ([method, path], { service }) => {
    expect((await send(service, method, path, 'no header\r\n\r\n')).status).toBe(400)
    expect((await send(service, method, path, `X: ${'x'.repeat(20_000)}\r\n\r\n`)).status).toBe(431)
    expect((await send(await service.startPeer(hasty), method, path, 'Late: ')).status).toBe(408)
  })

  test('of createPet to a body that is late', async ({ service }) => {
    const peer = await service.startPeer(hasty)
    const known = async () => expect((await peer.send('/v1/pets')).status).toBe(200)
    await waitFor(known) // no lookup of the key takes a part of the time
    const lines = [`Authorization: Bearer ${service.key}`, 'Content-Type: application/json', 'Content-Length: 9']
    const response = await send(peer, 'POST', '/v1/pets', `${lines.join('\r\n')}\r\n\r\n{`)
    expect([response.status, response.headers.has('ratelimit')]).toEqual([408, true])
  })

  test.for(operations)('to %s %s before the rate limiter is asked', async ([method, path], { service }) => {
    expect((await send(service, method, path, 'Expect: x\r\n\r\n')).status).toBe(417)
    expect((await send(service, method, path, 'Connection: close\r\n\r\n')).status).toBe(401)
  })

  test.for(operations)('to %s %s after too many failed authentications', async ([method, path], { service }) => {
    const strict = await service.startPeer({ rateLimits: { ...rateLimits, wrongKeys: 1 } })
    const rest = 'Authorization: Bearer wrong\r\nConnection: close\r\n\r\n'
    expect((await send(strict, method, path, rest)).status).toBe(401)
    expect((await send(strict, method, path, rest)).status).toBe(429)
  })
})

async function spectral(ruleset: RulesetDefinition): Promise<[code: string | number, message: string, path: string][]> {
  const linter = new Spectral()
  linter.setRuleset(ruleset)
  const problems: ISpectralDiagnostic[] = await linter.run(JSON.stringify(document))
  return problems.map(({ code, message, path }) => [code, message, path.join('.')])
}
