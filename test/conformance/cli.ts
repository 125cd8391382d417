import { parseArgs } from 'node:util'
import { cases } from './cases.ts'
import { createClient } from './client.ts'

const usage = `Usage: npm run conformance -- --base-url URL --key KEY [--specification-only]
  Runs the conformance suite against an environment and prints a line for each case. The exit code is 1 if a case fails.
  URL is the base address, which ends in /v1. The suite adds animals whose names begin with "conformance".
  --specification-only skips the cases that come from design decisions where the specification is silent.`

const { baseUrl, key, specificationOnly } = parse()
const client = createClient(baseUrl, key)
const selected = cases.filter(({ source }) => source !== 'design' || !specificationOnly)
let failed = 0
for (const { source, title, run } of selected) {
  const problem = await run(client).then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error : new Error(String(error))),
  )
  if (problem) failed++
  console.log(`${problem ? 'FAIL' : 'ok  '}  ${source.padEnd(6)}  ${title}`)
  if (problem)
    console.log(
      `              ${[problem.message, problem.cause].filter(Boolean).join(': ').split('\n').join('\n              ')}`,
    )
}
console.log(`\n${selected.length - failed} passed, ${failed} failed`)
process.exit(failed ? 1 : 0)

function parse() {
  try {
    const options = {
      'base-url': { type: 'string' },
      key: { type: 'string' },
      'specification-only': { type: 'boolean' },
    } as const
    const { values } = parseArgs({ options })
    const { 'base-url': address, key: apiKey } = values
    if (address && apiKey) return { baseUrl: address, key: apiKey, specificationOnly: values['specification-only'] }
  } catch {
    // invalid arguments: the usage is printed below
  }
  console.error(usage)
  process.exit(1)
}
