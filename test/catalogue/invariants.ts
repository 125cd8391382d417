import { Writable } from 'node:stream'
import { expect } from 'vitest'
import type { TestService } from '../support/harness.ts'
import type { RawResponse } from '../support/raw-http.ts'
import { expectDiscreet } from './case.ts'

/**
 * What is always true after a case: the process lives, no animal came or went unless the answer was 201, what was
 * acknowledged reads the same through both faces, and good requests right after succeed on both.
 * @returns the number of animals, to be given to the next case
 */
export async function expectSound(
  service: TestService,
  before: number,
  { status, body }: RawResponse,
): Promise<number> {
  const [alive, read, now] = await Promise.all([
    fetch(`${service.base}/livez`),
    fetch(`${service.base}/v1/pets?limit=1`, authorized(service)),
    countAnimals(service),
  ])
  expect([alive.status, read.status], 'alive, and a good read').toEqual([200, 200])
  expect(now, 'number of animals').toBe(before + (status === 201 ? 1 : 0))
  if (status === 201) await expectSameOnBothFaces(service, String((body as { id: number }).id)) // of an animal
  return now
}

export async function countAnimals(service: TestService): Promise<number> {
  const body = JSON.stringify({ query: '{ pets(first: 1) { totalCount } }' })
  const init = { method: 'POST', body, ...authorized(service) }
  const { data } = (await (await fetch(`${service.base}/graphql`, init)).json()) as {
    data: { pets: { totalCount: number } } // what was asked for
  }
  return data.pets.totalCount
}

async function expectSameOnBothFaces(service: TestService, id: string): Promise<void> {
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

/** Everything that a service logs. */
export interface Witness {
  stream: Writable
  readonly count: number
  /** That no line since then tells of a key or of a stack, and that each is one event. */
  expectDiscreet(key: string, since: number): void
}

export function witness(): Witness {
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
    expectDiscreet(key, since) {
      for (const text of written.slice(since)) {
        expect(text).toMatch(/^\{[^\n]*\}\n$/)
        // The log may say which key it was, by the part that people may see; an answer may not.
        expectDiscreet(text.replaceAll(key.slice(0, 13), ''), key.slice(8))
      }
    },
  }
}
