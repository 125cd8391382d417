import { Writable } from 'node:stream'
import { expect } from 'vitest'
import type { TestService } from '../support/harness.ts'
import type { RawResponse } from '../support/raw-http.ts'
import { expectNoInternals } from './case.ts'

/**
 * Expects what holds after every case: the process is alive, the number of animals has grown only if the response was
 * 201, both APIs return the same created animal, and valid requests to both succeed.
 * @param before the number of animals before the case
 * @returns the number of animals after it
 */
export async function expectInvariants(
  service: TestService,
  before: number,
  { status, body }: RawResponse,
): Promise<number> {
  const [alive, read, now] = await Promise.all([
    fetch(`${service.base}/livez`),
    fetch(`${service.base}/v1/pets?limit=1`, authorized(service)),
    countAnimals(service),
  ])
  expect([alive.status, read.status], '/livez, and a valid read').toEqual([200, 200])
  expect(now, 'number of animals').toBe(before + (status === 201 ? 1 : 0))
  if (status === 201) await expectSameThroughBothApis(service, String((body as { id: number }).id)) // 201: the body is an animal
  return now
}

export async function countAnimals(service: TestService): Promise<number> {
  const body = JSON.stringify({ query: '{ pets(first: 1) { totalCount } }' })
  const init = { method: 'POST', body, ...authorized(service) }
  const { data } = (await (await fetch(`${service.base}/graphql`, init)).json()) as {
    data: { pets: { totalCount: number } } // the selected fields
  }
  return data.pets.totalCount
}

async function expectSameThroughBothApis(service: TestService, id: string): Promise<void> {
  const rest: unknown = await (await fetch(`${service.base}/v1/pets/${id}`, authorized(service))).json()
  const query = 'query ($id: ID!) { pet(id: $id) { id name categoryId status } }'
  const { data } = await service.graphql(query, { id })
  const text = JSON.stringify(data?.['pet'])
    .replace(/"(id|categoryId)":"(-?\d+)"/g, '"$1":$2')
    .replace(',"status":null', '')
  expect(rest).toEqual(JSON.parse(text))
}

const authorized = ({ key }: TestService) => ({
  headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
})

/** Records every line that a service logs. */
export interface LogRecorder {
  stream: Writable
  readonly count: number
  /** Expects that each line after the first `since` lines is one JSON object without secrets or stack traces. */
  expectNoInternals(key: string, since: number): void
}

export function recordLog(): LogRecorder {
  const written: string[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      written.push(chunk.toString())
      done()
    },
  })
  return {
    stream,
    get count() {
      return written.length
    },
    expectNoInternals(key, since) {
      for (const text of written.slice(since)) {
        expect(text).toMatch(/^\{[^\n]*\}\n$/)
        // Unlike a response, the log may contain the public prefix of the key.
        expectNoInternals(text.replaceAll(key.slice(0, 13), ''), key.slice(8))
      }
    },
  }
}
