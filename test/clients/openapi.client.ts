import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Spectral, type ISpectralDiagnostic, type RulesetDefinition } from '@stoplight/spectral-core'
import owasp from '@stoplight/spectral-owasp-ruleset'
import { oas } from '@stoplight/spectral-rulesets'
import { describe, expect, test } from 'vitest'
import { document } from '../rest/document.ts'

/** OWASP rules that do not apply, each with its reason. */
const disabledRules = {
  // The contract defines the id as an int64, and every read needs a key.
  'owasp:api1:2023-no-numeric-ids': 'off',
  // The contract defines int64 without further bounds, and tools would round 2^63 - 1 to a double.
  'owasp:api4:2023-integer-limit': 'off',
  // The service does not allow cross-origin requests, so no response has Access-Control headers.
  'owasp:api8:2023-define-cors-origin': 'off',
  // What any operation may have is said once: the headers in docs/rest-api.md, the errors as `default`.
  'owasp:api4:2023-rate-limit': 'off',
  'owasp:api4:2023-rate-limit-responses-429': 'off',
  'owasp:api8:2023-define-error-responses-500': 'off',
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

  test('has no problems with the OWASP rules of Spectral', async () => {
    // The package declares its rules with the types of its own copy of Spectral.
    const ruleset = owasp as unknown as RulesetDefinition
    expect(await spectral({ extends: [[ruleset, 'all']], rules: disabledRules })).toEqual([])
  })
})

async function spectral(ruleset: RulesetDefinition): Promise<[code: string | number, message: string, path: string][]> {
  const linter = new Spectral()
  linter.setRuleset(ruleset)
  const problems: ISpectralDiagnostic[] = await linter.run(JSON.stringify(document))
  return problems.map(({ code, message, path }) => [code, message, path.join('.')])
}
