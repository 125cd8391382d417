import { readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { describe, expect, test } from 'vitest'
import { pathOf, read } from './support/files.ts'

const SRC = pathOf('src')

/** Of each resource that is served. */
const RESOURCE_FOLDERS = [...read('src/resources.ts').matchAll(/(?<= from '\.\/)\w+\/(?=index\.ts')/g)].map(String)

/** The layers, from top to bottom: a file may import from lower layers and from its own entry, a file or a folder. */
const LAYERS = [
  ['main.ts'],
  ['cli/', 'instance.ts'],
  ['development.ts', 'resources.ts'],
  ['service.ts'],
  ['app.ts'],
  RESOURCE_FOLDERS,
  ['rest/', 'graphql/'],
  ['auth/'],
  ['http/'],
  ['resource-services.ts'],
  ['feed/'],
  ['store/'],
  ['telemetry/'],
  ['errors.ts'],
  ['database/'],
  ['config/'],
  ['lib/', 'project.ts'],
]

const WEB = /^(express|graphql|graphql-yoga|@pothos\/.*|node:http)$/
const GRAPHQL = /^(graphql|graphql-yoga|@pothos\/.*)$/
const DATABASE = /^(pg|@prisma\/.*|database\/.*)$/

/** What an entry must not import, although it is in a lower layer: packages, and our files as paths from src. */
const FORBIDDEN_IMPORTS: Record<string, RegExp[]> = {
  ...Object.fromEntries(RESOURCE_FOLDERS.map((folder) => [folder, [WEB, DATABASE]])),
  'store/': [WEB, /^database\/(?!generated\/|statements\.ts$)/],
  'feed/': [WEB, /^database\/(?!generated\/|statements\.ts$)/],
  'auth/': [GRAPHQL, /^database\/(?!generated\/|statements\.ts$)/],
  'rest/': [GRAPHQL, DATABASE],
  'graphql/': [DATABASE],
  'http/': [GRAPHQL, DATABASE, /^(pets|store|auth|feed)\//],
  'database/': [WEB],
}

interface Import {
  /** A package, or one of our files as a path from src. */
  name: string
  /** A type and `import()` are not loaded with the file that imports them. */
  kind: 'loaded' | 'type' | 'dynamic'
}

/** The nodes of the syntax trees of all files. */
const files = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('database/generated/'))
    .map((path) => [path, objectsIn(parseAst(read(`src/${path}`), { lang: 'ts', sourceType: 'module' }).body)]),
)
const imports = new Map([...files].map(([path, nodes]) => [path, importsOf(path, nodes)]))

function importsOf(path: string, nodes: Record<string, unknown>[]): Import[] {
  return nodes.flatMap((node) => {
    const { type, source, importKind, exportKind } = node
    const { value: from } = (source ?? {}) as { value?: unknown }
    if (typeof from !== 'string') return []
    const isType = [importKind, exportKind].includes('type') || type === 'TSImportType'
    const name = from.startsWith('.') ? relative(SRC, join(SRC, dirname(path), from)) : from
    return { name, kind: isType ? 'type' : type === 'ImportExpression' ? 'dynamic' : 'loaded' }
  })
}

/** The nodes of a syntax tree (ESTree), which has no comments, and the values of its templates. */
function objectsIn(tree: unknown): Record<string, unknown>[] {
  if (typeof tree !== 'object' || !tree) return []
  const below = Object.values(tree).flatMap(objectsIn)
  return Array.isArray(tree) ? below : [tree as Record<string, unknown>, ...below]
}

const isIn = (path: string, entry: string) => (entry.endsWith('/') ? path.startsWith(entry) : path === entry)

const ENTRIES = LAYERS.flatMap((entries, layer) => entries.map((entry) => ({ layer, entry })))

/** The layer of a file, counted from the top, and its entry there; undefined for a package. */
const layerOf = (path: string) => ENTRIES.find(({ entry }) => isIn(path, entry))

/** Everything that a file imports, directly or by way of other files: packages and our files. */
function importedBy(path: string, kinds: Import['kind'][] = ['loaded'], found = new Set<string>()): Set<string> {
  for (const { name, kind } of imports.get(path) ?? []) {
    if (found.has(name) || !kinds.includes(kind)) continue
    found.add(name)
    importedBy(name, kinds, found)
  }
  return found
}

/** Every import for which `isForbidden` holds, as "file → import". */
function forbiddenImports(isForbidden: (path: string, name: string) => boolean | undefined): string[] {
  return [...imports].flatMap(([path, all]) =>
    all.filter(({ name }) => isForbidden(path, name)).map(({ name, kind }) => `${path} → ${kind} ${name}`),
  )
}

describe('layers', () => {
  test('every file is in a layer, and every entry has a file', () => {
    const paths = [...files.keys()]
    expect(paths.filter((path) => !layerOf(path))).toEqual([])
    expect(LAYERS.flat().filter((entry) => !paths.some((path) => isIn(path, entry)))).toEqual([])
  })

  test('a file imports only from layers below and from its own folder', () => {
    const violations = forbiddenImports((path, name) => {
      const [from, to] = [layerOf(path), layerOf(name)]
      return from && to && from.entry !== to.entry && from.layer >= to.layer
    })
    expect(violations).toEqual([])
  })

  test('no files import each other in a circle, not even types', () => {
    expect([...files.keys()].filter((path) => importedBy(path, ['loaded', 'type']).has(path))).toEqual([])
  })

  test('no folder imports what it must not', () => {
    const violations = forbiddenImports((path, name) =>
      FORBIDDEN_IMPORTS[layerOf(path)?.entry ?? '']?.some((pattern) => pattern.test(name)),
    )
    expect(violations).toEqual([])
  })

  test('only resources.ts imports a resource', () => {
    const importers = forbiddenImports((path, name) =>
      RESOURCE_FOLDERS.some((folder) => isIn(name, folder) && !isIn(path, folder)),
    )
    expect(importers).toEqual(RESOURCE_FOLDERS.map((folder) => `resources.ts → loaded ${folder}index.ts`))
  })
})

/** These name the resource: their own files, the list, the sample animals, and what the program shows at its start. */
const NAMES_RESOURCES = ['pets/', 'resources.ts', 'development.ts', 'instance.ts', 'project.ts']

test('no kit names an animal or a pet', () => {
  const ofResource = /animal|\bpets?\b|\bpets?_|pets?[A-Z]/i
  const kits = [...files].filter(([path]) => !NAMES_RESOURCES.some((entry) => isIn(path, entry)))
  const named = kits.flatMap(([path, nodes]) =>
    nodes
      // Of an identifier, of a literal, of a template and of a regular expression.
      .flatMap(({ name, value, raw, pattern }) => [name, value, raw, pattern].filter((one) => typeof one === 'string'))
      .filter((name) => ofResource.test(name) || /[a-z]Pets?(?![a-z])/.test(name))
      .map((name) => `${path}: ${name}`),
  )
  expect(named).toEqual([])
})

test('a start loads no library before its configuration was checked, and what few need not at all', () => {
  const libraries = (path: string) => [...importedBy(path)].filter((name) => !/\.m?ts$/.test(name))
  const optional = /^(jose|@opentelemetry\/(?!api$).*)$/ // for access tokens and for traces
  const needConfig = [WEB, DATABASE, optional]
  expect(libraries('main.ts').filter((name) => needConfig.some((one) => one.test(name)))).toEqual([])
  expect(libraries('instance.ts').filter((name) => optional.test(name))).toEqual([])
  expect(libraries('instance.ts')).toContain('express')
})

test('schema.prisma has its migration: npm run migrate -- create NAME writes it', () => {
  expect(read('prisma/migrations/schema.prisma')).toBe(read('prisma/schema.prisma'))
})

test.for(['', 'docs/shop/', 'test/clients/', 'test/bench/', 'test/nodes/'])(
  '%spackage-lock.json contains no registry address',
  (dir) => {
    expect(read(`${dir}package-lock.json`)).not.toContain('"resolved"')
  },
)
