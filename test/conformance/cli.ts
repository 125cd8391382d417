import { parseArgs } from 'node:util'
import { cases } from './cases.ts'
import { createClient } from './client.ts'

const usage = `Usage: npm run conformance -- --base-url URL --key KEY [--specification-only]
  Holds an environment against the contract and prints what holds and what does not. Exit code 1 when anything does not.
  URL is the base address, which ends in /v1. Animals named "conformance …" are added to the store.
  --specification-only leaves out what the design decided where the specification is silent.`

const { baseUrl, key, specificationOnly } = parse()
const client = createClient(baseUrl, key)
const chosen = cases.filter(({ source }) => source !== 'design' || !specificationOnly)
let failed = 0
for (const { source, title, run } of chosen) {
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
console.log(`\n${chosen.length - failed} passed, ${failed} failed`)
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
    // told below
  }
  console.error(usage)
  process.exit(1)
}
