import { parseArguments, usageError } from '../../src/cli/arguments.ts'
import { OperatorError } from '../../src/lib/operator-error.ts'
import { cases } from './cases.ts'
import { createClient, ReadOnlyError } from './client.ts'

export const USAGE = `Usage: npm run conformance -- --base-url URL --key KEY [--read-only] [--specification-only]
  Runs the conformance suite against an environment and prints a line for each case. The exit code is 1 if a case fails.
  --base-url URL         the address of the environment, with or without /v1: http://localhost:4000
  --key KEY              an API key that may read and write
  --read-only            skips the cases that send anything but GET. Without it the suite adds animals whose names begin
                         with "conformance"; the API cannot delete them
  --specification-only   skips the cases that come from design decisions where the specification is silent`

/** @returns the exit code. @throws OperatorError if the environment sends no response, or rejects the key */
export async function runSuite(args: string[]): Promise<number> {
  const { baseUrl, key, readOnly, specificationOnly } = parse(args)
  const client = createClient(baseUrl, key, readOnly)
  await requireAccess()
  if (!readOnly) {
    console.log(`This run adds animals named "conformance …" to ${baseUrl}.`)
    console.log('The API has no operation that deletes them. --read-only adds none.\n')
  }
  const count = { ok: 0, FAIL: 0, skip: 0 }
  for (const { source, title, run } of cases.filter(({ source }) => source !== 'design' || !specificationOnly)) {
    const error = await run(client).catch((reason: Error) => reason)
    const outcome = error instanceof ReadOnlyError ? 'skip' : error ? 'FAIL' : 'ok'
    if (outcome === 'FAIL') await requireAccess()
    count[outcome]++
    console.log(`${outcome.padEnd(4)}  ${source.padEnd(6)}  ${title}${error ? `: ${error.message}` : ''}`)
  }
  const skipped = count.skip ? `, ${count.skip} skipped` : ''
  console.log(`\n${count.ok} passed, ${count.FAIL} failed${skipped}`)
  return count.FAIL ? 1 : 0

  async function requireAccess(): Promise<void> {
    const { status } = await client
      .send('/pets?limit=1')
      .catch(({ message, cause }: Error & { cause?: NodeJS.ErrnoException }) => {
        throw new OperatorError(`No response from ${baseUrl}/pets: ${cause?.code ?? message}`)
      })
    if (status === 401) throw new OperatorError(`${baseUrl}/pets responds 401: the key is not valid there.`)
  }
}

/** @throws OperatorError */
function parse(args: string[]) {
  const flag = { type: 'boolean', default: false } as const
  const options = { 'base-url': { type: 'string' }, key: { type: 'string' } } as const
  const { values } = parseArguments(args, { ...options, 'read-only': flag, 'specification-only': flag }, USAGE)
  const { 'base-url': url, key } = values
  if (!url) throw usageError('--base-url is missing.', USAGE)
  if (!key) throw usageError('--key is missing.', USAGE)
  if (!/^https?:\/\/[^?#]+$/.test(url) || !URL.canParse(url)) {
    throw new OperatorError('--base-url takes a URL such as http://localhost:4000 or https://pets.example/v1.')
  }
  return {
    baseUrl: `${url.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1`,
    key,
    readOnly: values['read-only'],
    specificationOnly: values['specification-only'],
  }
}
