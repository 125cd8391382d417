import { describe, expect } from 'vitest'
import { testWithSharedService as test } from '../support/harness.ts'

test('listPets: one message names every invalid parameter, and unknown ones are ignored', async ({ service }) => {
  const response = await service.send(`/v1/pets?page=3&__proto__=x${'&a'.repeat(1_000)}&limit=0&status=x`)
  expect(((await response.json()) as { message: string }).message).toBe(
    'limit: must be an integer from 1 to 100; status: must be one of available, pending, sold',
  )
  expect((await service.send('/v1/pets?page=3&foo=bar&__proto__=x')).status).toBe(200)
})

describe('createPet', () => {
  test('unknown members and id are ignored, without prototype pollution', async ({ service }) => {
    const objects = '"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"prototype":{"polluted":1}'
    const functions = '"toString":null,"valueOf":null,"toJSON":null,"then":null,"hasOwnProperty":null'
    const others = `"Name":"y","STATUS":"gone","":1,"category_id":2,"x":1,"x":2,"deep":${'['.repeat(500)}${']'.repeat(500)}`
    const response = await service.post(`{"id":77,"name":"x","categoryId":1,${objects},${functions},${others}}`)
    expect(await response.text()).toMatch(/^\{"id":(?!77)\d+,"name":"x","categoryId":1\}$/)
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
  })

  test('a body of 64 KiB is accepted, with each form of the media type of JSON', async ({ service }) => {
    const body = '{"name":"x","categoryId":1}'.padEnd(65_536)
    for (const type of ['application/json;charset=UTF-8', 'Application/JSON; charset="utf-8"', 'application/json; x=y'])
      expect((await service.post(body, { 'Content-Type': type })).status, type).toBe(201)
  })
})

test('HEAD has the status and Content-Length of GET, without a body, in both APIs', async ({ service }) => {
  await service.create()
  for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets/0', '/graphql?query={pet(id:1){name}}', '/graphql']) {
    const [get, head] = [await service.send(path), await service.send(path, { method: 'HEAD' })]
    expect(head.status).toBe(get.status)
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'))
    expect(await head.text()).toBe('')
  }
})
