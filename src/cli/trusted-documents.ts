import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runProgram, UsageError } from './program.ts'
import { makeManifest } from '../graphql/trusted-documents.ts'
import { schema } from '../graphql/schema/index.ts'

const usage = `Usage: npm run --silent documents -- FOLDER [--out FILE]
  Makes the manifest of trusted documents from the .graphql files below FOLDER: an object from the SHA-256 of each
  operation to its text, with the fragments that it needs. Writes it to FILE, or to stdout.`

await runProgram(async () => {
  const { folder, out } = parse(process.argv.slice(2))
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.(graphql|gql)$/.test(name),
  )
  if (!files.length) throw new UsageError(`There are no .graphql files in ${folder}.`)
  const made = makeManifest(
    schema,
    files.sort().map((name) => readFileSync(join(folder, name), 'utf8')),
  )
  if ('errors' in made) throw new UsageError(made.errors.map((error) => error.message).join('\n'))
  const json = `${JSON.stringify(made.manifest, null, 2)}\n`
  if (out) writeFileSync(out, json)
  else process.stdout.write(json)
  console.error(`${Object.keys(made.manifest).length} operation(s) from ${files.length} file(s).`)
}, usage)

function parse(args: string[]): { folder: string; out: string | undefined } {
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { out: { type: 'string' } } })
    const [folder, ...rest] = positionals
    if (folder && !rest.length && statSync(folder).isDirectory()) return { folder, out: values.out }
  } catch {
    // told below
  }
  throw new UsageError(usage)
}
