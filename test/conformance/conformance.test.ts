import { describe, expect } from 'vitest'
import { cases } from './cases.ts'
import { createClient } from './client.ts'
import { testWithService as test } from '../support/harness.ts'

describe('the conformance suite', () => {
  test('passes against the service', async ({ service }) => {
    const client = createClient(`${service.base}/v1`, service.key)
    const failures: string[] = []
    for (const { source, title, run } of cases) {
      await run(client).catch((error: Error) => failures.push(`${source}: ${title}: ${error.message}`))
    }
    expect(failures).toEqual([])
    expect(cases.length).toBeGreaterThan(75)
  })

  test('fails every case against a service that rejects every request', async ({ service }) => {
    const client = createClient(`${service.base}/v1`, 'not-a-key')
    const passed: string[] = []
    for (const { title, run } of cases)
      await run(client).then(
        () => passed.push(title),
        () => {},
      )
    // Cases that still pass: 401 itself, and the headers that every response of getPet has.
    expect(passed.filter((title) => !/401|Deprecation/.test(title))).toEqual([])
  })
})
