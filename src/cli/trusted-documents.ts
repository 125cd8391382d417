import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Source } from 'graphql'
import { createManifest } from '../graphql/trusted-documents.ts'
import { schema } from '../graphql/schema/index.ts'
import { OperatorError } from '../operator-error.ts'
import { parseArguments } from './arguments.ts'
import { runProgram } from './program.ts'

const USAGE = `Usage: npm run --silent trusted-documents -- FOLDER [--out FILE]
  Generates the manifest of trusted documents from the .graphql and .gql files in FOLDER and its subfolders: a JSON
  object that maps the SHA-256 of each operation to its text, with the fragments that it uses. Writes it to FILE, or to
  stdout.`

await runProgram(
  async () => {
    const { folder, out } = parse(process.argv.slice(2))
    requireFolder(folder)
    if (out) requireFolder(dirname(out), '--out: ')
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((f) => /\.(graphql|gql)$/.test(f))
    if (!files.length) throw new OperatorError(`There are no .graphql files in ${folder}.`)
    const sources = files.sort().map((name) => new Source(read(join(folder, name)), join(folder, name)))
    const manifest = createManifest(schema, sources)
    const json = `${JSON.stringify(manifest, null, 2)}\n`
    if (out) write(out, json)
    else process.stdout.write(json)
    console.error(`${Object.keys(manifest).length} operation(s) from ${files.length} file(s).`)
  },
  () => USAGE,
)

/** @throws UsageError */
function parse(args: string[]): { folder: string; out: string | undefined } {
  const { positionals, options } = parseArguments(args, { arguments: ['FOLDER'], options: { out: 'FILE' } }, USAGE)
  const [folder = ''] = positionals
  return { folder, out: options.out }
}

/** @throws OperatorError with one line */
function requireFolder(folder: string, prefix = ''): void {
  if (!existsSync(folder)) throw new OperatorError(`${prefix}The folder ${folder} does not exist.`)
  if (!statSync(folder).isDirectory()) throw new OperatorError(`${prefix}${folder} is not a folder.`)
}

/** @throws OperatorError with one line that names the file */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read: ${(cause as Error).message}`, { cause }) // thrown by node:fs
  }
}

/** @throws OperatorError with one line that names the file */
function write(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (cause) {
    throw new OperatorError(`--out: ${file} cannot be written: ${(cause as Error).message}`, { cause }) // thrown by node:fs
  }
}
