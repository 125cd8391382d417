import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Spectral, type ISpectralDiagnostic, type RulesetDefinition } from '@stoplight/spectral-core'
import owasp from '@stoplight/spectral-owasp-ruleset'
import { oas } from '@stoplight/spectral-rulesets'
import { describe, expect } from 'vitest'
import { test } from '../harness.ts'
import { document } from './document.ts'

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
    expect(await spectral({ extends: [[owasp as unknown as RulesetDefinition, 'all']], rules: waived })).toEqual([])
  })
})

async function spectral(ruleset: RulesetDefinition): Promise<unknown[]> {
  const linter = new Spectral()
  linter.setRuleset(ruleset)
  const problems: ISpectralDiagnostic[] = await linter.run(JSON.stringify(document))
  return problems.map(({ code, message, path }) => [code, message, path.join('.')])
}
