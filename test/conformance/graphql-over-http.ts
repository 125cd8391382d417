import { parseArguments } from '../../src/cli/arguments.ts'
import { OperatorError } from '../../src/lib/operator-error.ts'
import { runCommand } from './command.ts'
import { sentences, SkipError, type Target } from './graphql-over-http-cases.ts'

const USAGE = `Usage: node test/conformance/graphql-over-http.mjs URL [--key KEY] [--partial QUERY]
  Tests a server of GraphQL against GraphQL over HTTP, edition September 2026, and prints its sentences and what was
  sent for each. The exit code is 1 if the server does not follow a sentence that says MUST. Of the server's own fields
  it selects only those of --partial.
  URL               the address of the server: http://localhost:4000/graphql
  --key KEY         is sent as Authorization: Bearer KEY
  --partial QUERY   a query of the server's schema whose result has data and errors. Without it some cases are skipped`

await runCommand(USAGE, (args) => run(parse(args)))

/** @returns the exit code. @throws OperatorError if there is no server */
async function run(target: Target): Promise<number> {
  await fetch(target.url).catch((error: Error) => {
    throw new OperatorError(`No response from ${target.url}: ${String(error.cause ?? error.message)}`)
  })
  const count = { ok: 0, MUST: 0, SHOULD: 0, skip: 0 }
  for (const { level, sentence, requests } of sentences) {
    console.log(sentence)
    for (const [request, run] of Object.entries(requests)) {
      const error = await run(target).catch((reason: Error) => reason)
      const outcome = error instanceof SkipError ? 'skip' : error ? level : 'ok'
      count[outcome]++
      console.log(`  ${outcome.padEnd(6)}  ${request}${error ? `: ${error.message}` : ''}`)
    }
  }
  console.log(`\n${count.ok} passed, ${count.MUST} MUST and ${count.SHOULD} SHOULD failed, ${count.skip} skipped`)
  return count.MUST ? 1 : 0
}

/** @throws OperatorError */
function parse(args: string[]): Target {
  const options = { key: { type: 'string' }, partial: { type: 'string' } } as const
  const { values, positionals } = parseArguments(args, options, USAGE, ['URL'])
  const [url = ''] = positionals // it is required
  if (!/^https?:/.test(url) || !URL.canParse(url)) throw new OperatorError(`URL: ${url} is none.`)
  const { key, partial } = values
  return { url, headers: key ? { Authorization: `Bearer ${key}` } : {}, partial }
}
