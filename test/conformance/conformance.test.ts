import { describe, expect } from 'vitest'
import { cases } from './cases.ts'
import { createClient } from './client.ts'
import { testWithService as test } from '../support/harness.ts'

describe('the conformance kit', () => {
  test('finds nothing wrong with the service, on a store that fills as it goes', async ({ service }) => {
    const client = createClient(`${service.base}/v1`, service.key)
    const failures: string[] = []
    for (const { source, title, run } of cases) {
      await run(client).catch((error: Error) => failures.push(`${source}: ${title}: ${error.message}`))
    }
    expect(failures).toEqual([])
    expect(cases.length).toBeGreaterThan(75)
  })

  test('finds each fault of a service that refuses everything', async ({ service }) => {
    const client = createClient(`${service.base}/v1`, 'not-a-key')
    const passed: string[] = []
    for (const { title, run } of cases)
      await run(client).then(
        () => passed.push(title),
        () => {},
      )
    // What holds all the same: 401 itself, and the headers that every answer of getPet has.
    expect(passed.filter((title) => !/401|deprecated/.test(title))).toEqual([])
  })
})
