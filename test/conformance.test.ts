import { describe } from 'vitest'
import { cases } from '../src/conformance/cases.ts'
import { createClient } from '../src/conformance/client.ts'
import { test } from './harness.ts'

describe('the conformance kit', () => {
  for (const { source, title, run } of cases) {
    test(`${source}: ${title}`, async ({ running }) => {
      await run(createClient(`${running.base}/v1`, running.key))
    })
  }
})
