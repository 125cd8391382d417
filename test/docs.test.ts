import { existsSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { buildSchema, parse, validate } from 'graphql'
import { format, resolveConfig } from 'prettier'
import { describe, expect, test } from 'vitest'
import { Animal } from '../src/pets/animal.ts'
import { Environment } from '../src/config/environment.ts'
import { ERRORS } from '../src/errors.ts'
import { DOCUMENT_LIMITS, MAX_COST, MAX_TOKENS } from '../src/graphql/document-limits.ts'
import { capacityTables } from './bench/capacity.ts'
import { pathOf, read } from './support/files.ts'

const scriptsOf = (file: string) => (JSON.parse(read(file)) as { scripts: Record<string, string> }).scripts
const scripts = { ...scriptsOf('docs/shop/package.json'), ...scriptsOf('package.json') }

/** Every document by its path from the root. */
const pages = new Map(
  ['README.md', ...readdirSync(pathOf('docs'), { recursive: true, encoding: 'utf8' }).map((file) => `docs/${file}`)]
    .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
    .map((file) => [file, read(file)] as const),
)

/** Paths that exist only after a build or a run, and so not in a fresh clone. */
const createdLater = new Set(['dist/', 'test/bench/results/', 'src/generated/'])

describe.for([...pages])('%s', ([file, text]) => {
  const isRecord = file === 'docs/changelog.md' // a changelog names removed files
  const prose = text.replace(/^```[^]*?^```/gm, '')

  test('has links to existing files and headings only', () => {
    const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
    const brokenLinks = links.filter((link) => !/^https?:/.test(link) && !targetExists(file, link))
    expect(brokenLinks).toEqual([])
  })

  test('names paths that exist', () => {
    const named = isRecord ? '' : text
    const paths = named.match(/(?<![@\w./-])(?:src|test|docs|deploy|prisma|dist|\.ci)\/[\w./@-]*\w\/?/g) ?? []
    expect(paths.filter((path) => !createdLater.has(path) && !exists(path))).toEqual([])
  })

  test('names scripts of package.json', () => {
    const names = [...text.matchAll(/npm run (?:--silent )?([a-z][\w:-]*)/g)].map(([, name = '']) => name)
    expect(names.filter((name) => !(name in scripts))).toEqual([])
  })
})

/** A program of dist/ exists if the source that it is compiled from does. */
function exists(path: string): boolean {
  return existsSync(pathOf(path.replace(/^dist\/(.*)\.js$/, 'src/$1.ts')))
}

function targetExists(from: string, link: string): boolean {
  const [path, anchor] = link.split('#')
  const target = path ? join(dirname(from), path) : from
  return exists(target) && (anchor === undefined || anchorsOf(pages.get(target) ?? '').includes(anchor))
}

/** The anchors that GitHub gives to headings. */
function anchorsOf(text: string): string[] {
  const headings = text.replace(/^```[^]*?^```/gm, '').match(/(?<=^#+ ).+$/gm) ?? []
  const toAnchor = (heading: string) => heading.replace(/[^\p{L}\p{N}\s_-]/gu, '').replace(/\s/g, '-')
  return headings.map((heading) => toAnchor(heading.toLowerCase()))
}

/** The cells of the table behind a marker, without its head; backticks are removed. */
function tableAfter(file: string, marker: string): string[][] {
  const text = pages.get(file) ?? ''
  const [table = ''] = /(?:^\|.*\n)+/m.exec(text.slice(text.indexOf(marker))) ?? []
  const rows = table.replaceAll('`', '').match(/.+/g)?.slice(2) ?? []
  return rows.map((row) => row.split(/ *\| */).slice(1, -1))
}

/** Expects that a document contains what is generated between two markers. With --update, writes it. */
async function expectGenerated(file: string, generated: Record<string, string>): Promise<void> {
  const text = Object.entries(generated).reduce(
    (text, [name, table]) =>
      text.replace(new RegExp(`(?<=<!-- ${name} -->)[^]*(?=<!-- /${name} -->)`), () => `\n\n${table}\n\n`),
    pages.get(file) ?? '',
  )
  const options = await resolveConfig(pathOf(file))
  await expect(await format(text, { ...options, parser: 'markdown' })).toMatchFileSnapshot(pathOf(file))
}

test('the table of environment variables is generated from src/config/environment.ts: npm run docs writes it', async () => {
  const rows = Object.entries(Environment.shape).map(([name, schema]) => {
    const { data: value } = schema.safeParse(undefined)
    return `| \`${name}\` | ${value === undefined ? '' : `\`${String(value)}\``} | ${schema.description} |`
  })
  const environment = ['| variable | default | meaning |', '| --- | --- | --- |', ...rows].join('\n')
  await expectGenerated('docs/configuration.md', { environment })
})

const examplePages = ['docs/clients.md', 'docs/live.md']
const shownFile = /(?<=^<!-- (docs\/shop\/\S+) -->\n\n```\w+\n)[^]*?(?=^```$)/gm

test.for(examplePages)('every file that %s shows is generated from the shop: npm run docs writes it', async (page) => {
  const text = pages.get(page) ?? ''
  const generated = text.replace(shownFile, (_code, file: string) => read(file))
  await expect(generated).toMatchFileSnapshot(pathOf(page))
})

test.for(['errors.ts', 'live.ts'])(
  '%s of the examples is generated from the shop: npm run docs writes it',
  async (file) => {
    const original = read(`docs/shop/src/${file}`)
    await expect(original).toMatchFileSnapshot(pathOf(`test/clients/examples/${file}`))
  },
)

test('the line `npm i` of an example installs what it imports, in the versions that were tried', () => {
  const { dependencies } = JSON.parse(read('test/clients/package.json')) as { dependencies: Record<string, string> }
  const inTriedVersion = (name: string) => `${name}@${dependencies[name]}`
  for (const section of examplePages.flatMap((page) => (pages.get(page) ?? '').split(/^##+ /m))) {
    const installed = namesIn(section, /(?<=^npm i .*)(?<= )@?[\w/-]+@[\d.]+/gm)
    const files = namesIn(section, /(?<=\]\(\.\.\/)test\/clients\/examples\/[^)]+/g)
    const imported = namesIn(files.map(read).join(), /(?<= from ')(?:@[\w-]+\/)?(?![.]|node:)[\w-]+/g)
    expect(Object.keys(dependencies).map(inTriedVersion)).toEqual(expect.arrayContaining(installed))
    expect(installed).toEqual(expect.arrayContaining(imported.map(inTriedVersion)))
  }
})

test('each table of docs/capacity.md is generated from test/bench/capacity.ts: npm run docs writes it', async () => {
  await expectGenerated('docs/capacity.md', capacityTables())
})

test('docs/rest-api.md lists every error code with its status', () => {
  const rows = tableAfter('docs/rest-api.md', 'compares this table')
  const documented = rows.map(([status, code]) => [code, Number(status)])
  const codes = Object.entries(ERRORS).map(([code, { status }]) => [code, status] as const)
  expect(documented).toEqual(codes.sort(([, a], [, b]) => a - b))
})

test.for([
  ['docs/rest-api.md', '## Animals'],
  ['docs/specification.md', '### Animal (the Pet resource)'],
] as const)('%s has a row for every member of an animal', ([file, heading]) => {
  expect(tableAfter(file, heading).map(([member]) => member)).toEqual(Object.keys(Animal.shape))
})

test('docs/graphql-api.md lists every GraphQL limit with its value', () => {
  const documented = tableAfter('docs/graphql-api.md', 'compares this table').map(([label = '', value = '']) => [
    label.replace(/ (\w)/g, (_space, letter: string) => letter.toUpperCase()),
    Number(value.replace(',', '')),
  ])
  const ofDocuments = Object.entries(DOCUMENT_LIMITS).map(([name, { limit }]) => [name, limit])
  expect(documented).toEqual([['tokens', MAX_TOKENS], ...ofDocuments, ['cost', MAX_COST]])
})

test('docs/operations.md lists every metric of the service', () => {
  const listed = namesIn(pages.get('docs/operations.md'), /(?<=\bpetstore_)\w+/g)
  const files = readdirSync(pathOf('src'), { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
  const source = files.map((file) => read(`src/${file}`)).join()
  expect(listed).toEqual(namesIn(source, /(?<=\b(?:gauge|counter)\('|\{NAMESPACE\}_)\w+(?=['`])/g))
})

function namesIn(text: string | undefined, pattern: RegExp): string[] {
  return [...new Set(text?.match(pattern))].sort()
}

test('the GraphQL operations of the documents are valid', () => {
  const schema = buildSchema(read('schema.graphql'))
  const operations = [...pages.values()].flatMap((text) => [...text.matchAll(/^```graphql\n([^]*?)^```/gm)])
  expect(operations.length).toBeGreaterThan(0)
  expect(operations.flatMap(([, operation = '']) => validate(schema, parse(operation)))).toEqual([])
})
