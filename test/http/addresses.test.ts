import { expect } from 'vitest'
import { printedSchema } from '../../src/graphql/schema/index.ts'
import { schema } from '../support/schema.ts'
import { testWithSharedService as test } from '../support/harness.ts'

const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

test('/ is a page for browsers with relative links to everything, and 404 for programs', async ({ service }) => {
  const response = await fetch(service.base, { headers: BROWSER })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
  const links = [...(await response.text()).matchAll(/<a href="([^"]+)"/g)].map(([, href = '']) => href)
  expect(links).toEqual(['graphql', 'docs', 'schema.graphql', 'openapi.json'])
  for (const link of links)
    expect((await fetch(`${service.base}/${link}`, { headers: BROWSER })).status, link).toBe(200)
  for (const Accept of ['*/*', 'application/json']) {
    const { status, headers } = await fetch(service.base, { headers: { Accept } })
    expect([status, headers.get('vary')]).toEqual([404, 'Accept'])
  }
})

test.for([
  ['/docs/', '../docs'],
  ['/graphql/?query=%7B__typename%7D', '../graphql?query=%7B__typename%7D'],
  ['/v1/pets/?limit=1', '../pets?limit=1'],
] as const)('a slash at the end is redirected with the method: %s to %s', async ([path, location], { service }) => {
  for (const method of ['GET', 'POST', 'HEAD']) {
    const response = await fetch(service.base + path, { method, redirect: 'manual' })
    expect([method, response.status, response.headers.get('location')]).toEqual([method, 308, location])
  }
  expect((await service.send(path, { headers: BROWSER })).status).toBe(200)
})

test('/schema.graphql is the whole schema, without a key', async ({ service }) => {
  const response = await fetch(`${service.base}/schema.graphql`)
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8'])
  expect(await response.text()).toBe(printedSchema(schema))
})
