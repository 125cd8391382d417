import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createManifest } from '../graphql/trusted-documents.ts'
import { schema } from '../graphql/schema/index.ts'
import { OperatorError } from '../operator-error.ts'
import { runProgram } from './program.ts'

const USAGE = `Usage: npm run --silent trusted-documents -- FOLDER [--out FILE]
  Generates the manifest of trusted documents from the .graphql and .gql files in FOLDER and its subfolders: a JSON
  object that maps the SHA-256 of each operation to its text, with the fragments that it uses. Writes it to FILE, or to
  stdout.`

await runProgram(
  async () => {
    const { folder, out } = parse(process.argv.slice(2))
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((f) => /\.(graphql|gql)$/.test(f))
    if (!files.length) throw new OperatorError(`There are no .graphql files in ${folder}.`)
    const sources = files.sort().map((name) => readFileSync(join(folder, name), 'utf8'))
    const manifest = createManifest(schema, sources)
    const json = `${JSON.stringify(manifest, null, 2)}\n`
    if (out) writeFileSync(out, json)
    else process.stdout.write(json)
    console.error(`${Object.keys(manifest).length} operation(s) from ${files.length} file(s).`)
  },
  () => USAGE,
)

/** @throws OperatorError with the usage */
function parse(args: string[]): { folder: string; out: string | undefined } {
  try {
    const { values, positionals } = parseArgs({ args, allowPositionals: true, options: { out: { type: 'string' } } })
    const [folder, ...rest] = positionals
    if (folder && !rest.length && statSync(folder).isDirectory()) return { folder, out: values.out }
  } catch {
    // An unknown option, or no such folder.
  }
  throw new OperatorError(USAGE)
}
