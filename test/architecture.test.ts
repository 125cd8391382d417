import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseAst } from 'rolldown/parseAst'
import { describe, expect, test } from 'vitest'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const SRC = join(ROOT, 'src')

/**
 * The layers, from top to bottom: a file may import from lower layers and from its own entry, a file or a folder. A file
 * named here is not part of its folder's entry.
 */
const LAYERS = [
  ['main.ts'],
  ['cli/', 'instance.ts'],
  ['service.ts'],
  ['app.ts', 'cluster.ts'],
  ['pages/', 'rest/', 'graphql/', 'telemetry/access-log.ts'],
  ['telemetry/metrics.ts'],
  ['auth/authenticate.ts'],
  ['auth/rate-limit.ts'],
  ['http/'],
  ['feed/'],
  ['animals/', 'auth/'],
  ['telemetry/'],
  ['errors.ts', 'coalesce.ts'],
  ['database/'],
  ['config.ts'],
  ['environment.ts'],
  ['operator-error.ts', 'project.ts', 'regular-file.ts'],
]

const WEB = /^(express|graphql|graphql-yoga|@pothos\/.*|node:http)$/
const GRAPHQL = /^(graphql|graphql-yoga|@pothos\/.*)$/
const DATABASE = /^(pg|@prisma\/.*|database\/.*)$/

/** What an entry must not import, although it is in a lower layer: packages, and our files as paths from src. */
const FORBIDDEN_IMPORTS: Record<string, RegExp[]> = {
  'animals/': [WEB, /^database\/(?!generated\/|statements\.ts$)/],
  'feed/': [WEB, /^database\/(?!generated\/|statements\.ts$)/],
  'auth/': [WEB, /^database\/(?!generated\/|statements\.ts$)/],
  'rest/': [GRAPHQL, DATABASE],
  'graphql/': [DATABASE],
  'http/': [GRAPHQL, DATABASE, /^(animals|feed)\//],
  'database/': [WEB],
}

/** Only this file may import the types that authentication adds to a request. */
const REQUEST = 'http/request.ts'

/** Who may add members to the types of which package. */
const AUGMENTATIONS: Record<string, string[]> = {
  [REQUEST]: ['express-serve-static-core', 'node:http'],
  'graphql/schema/builder.ts': ['graphql'],
}

const PROGRAMS = ['main.ts', 'cli/']

/** Readers of process.env that are no programs, each with its reason. */
const ENVIRONMENT_READERS = {
  'database/postgres-programs.ts': "passes it on to PostgreSQL's programs",
}

const MAX_FUNCTION_LINES = 60

/** Functions that are longer, each with its reason. */
const LONG_FUNCTIONS: Record<string, string> = {
  'service.ts function createService(options: ServiceOptions) {': 'creates the parts, one after the other',
}

const MAX_FILE_LINES = 200

interface Import {
  /** A package, or one of our files as a path from src. */
  name: string
  /** Whether it is loaded with the file that imports it, unlike a type and `import()`. */
  loaded: boolean
  typeOnly: boolean
}

interface SourceFile {
  lines: number
  imports: Import[]
  /** Packages to whose types the file adds. */
  augments: string[]
  readsEnvironment: boolean
  longFunctions: string[]
}

const files = new Map(
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('database/generated/'))
    .map((path) => [path, analyse(path)]),
)

function analyse(path: string): SourceFile {
  const text = readFileSync(join(SRC, path), 'utf8')
  const file: SourceFile = {
    lines: text.split('\n').length - 1,
    imports: [],
    augments: [],
    readsEnvironment: false,
    longFunctions: [],
  }
  const addImport = (specifier: unknown, typeOnly: boolean, loaded = !typeOnly) => {
    if (!isNode(specifier) || typeof specifier.value !== 'string') return
    const { value: name } = specifier
    const resolved = name.startsWith('.') ? relative(SRC, join(SRC, dirname(path), name)) : name
    file.imports.push({ name: resolved, typeOnly, loaded })
  }
  const visit = (node: unknown): void => {
    if (Array.isArray(node)) node.forEach(visit)
    if (!isNode(node)) return
    const source = text.slice(node.start, node.end)
    if (node.type === 'ImportDeclaration') addImport(node.source, node.importKind === 'type')
    if (/^Export(All|Named)Declaration$/.test(node.type)) addImport(node.source, node.exportKind === 'type')
    if (node.type === 'TSImportType') addImport(node.source, true)
    if (node.type === 'ImportExpression') addImport(node.source, false, false)
    if (node.type === 'TSModuleDeclaration' && isNode(node.id) && typeof node.id.value === 'string')
      file.augments.push(node.id.value)
    if (node.type === 'MemberExpression' && source === 'process.env') file.readsEnvironment = true
    if (/^(Arrow)?Function(Declaration|Expression)$/.test(node.type) && source.split('\n').length > MAX_FUNCTION_LINES)
      file.longFunctions.push(`${path} ${source.slice(0, source.indexOf('\n'))}`)
    Object.values(node).forEach(visit)
  }
  visit(parseAst(text, { lang: 'ts', sourceType: 'module' }, path).body)
  return file
}

/** A node of the syntax tree, by the ESTree specification. */
interface Node {
  type: string
  start: number
  end: number
  [member: string]: unknown
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value
}

const isIn = (path: string, entry: string) => (entry.endsWith('/') ? path.startsWith(entry) : path === entry)

const isProgram = (path: string) => PROGRAMS.some((entry) => isIn(path, entry))

/** The layer of a file, counted from the top, and its entry there; undefined for a package. */
function layerOf(path: string): { layer: number; entry: string } | undefined {
  const all = LAYERS.flatMap((entries, layer) => entries.map((entry) => ({ layer, entry })))
  return all.find(({ entry }) => entry === path) ?? all.find(({ entry }) => isIn(path, entry))
}

/** Every import for which `isForbidden` holds, as "file → import". */
function forbiddenImports(isForbidden: (path: string, imported: Import) => boolean | undefined): string[] {
  return [...files].flatMap(([path, { imports }]) =>
    imports.filter((imported) => isForbidden(path, imported)).map(({ name }) => `${path} → ${name}`),
  )
}

/** The files for which `isForbidden` holds. */
function forbiddenFiles(isForbidden: (file: SourceFile, path: string) => boolean): string[] {
  return [...files].filter(([path, file]) => isForbidden(file, path)).map(([path]) => path)
}

describe('layers', () => {
  test('every file is in a layer, and every entry has a file', () => {
    expect(forbiddenFiles((_file, path) => !layerOf(path))).toEqual([])
    const unused = LAYERS.flat().filter((entry) => ![...files.keys()].some((path) => isIn(path, entry)))
    expect(unused).toEqual([])
  })

  test('a file imports only from layers below and from its own folder', () => {
    const violations = forbiddenImports((path, { name }) => {
      const [from, to] = [layerOf(path), layerOf(name)]
      return from && to && from.entry !== to.entry && from.layer >= to.layer
    })
    expect(violations).toEqual([])
  })

  test('a folder imports no package and no lower layer that is not its concern', () => {
    const violations = forbiddenImports((path, { name }) =>
      FORBIDDEN_IMPORTS[layerOf(path)?.entry ?? '']?.some((pattern) => pattern.test(name)),
    )
    expect(violations).toEqual([])
  })

  test('http/ imports nothing of authentication but the types of what is on a request', () => {
    const violations = forbiddenImports(
      (path, { name, typeOnly }) =>
        path.startsWith('http/') && name.startsWith('auth/') && !(path === REQUEST && typeOnly),
    )
    expect(violations).toEqual([])
  })

  test('only http/request.ts adds members to a request, and only graphql/schema/builder.ts to a field', () => {
    const violations = forbiddenFiles(
      ({ augments }, path) => !augments.every((name) => AUGMENTATIONS[path]?.includes(name)),
    )
    expect(violations).toEqual([])
  })
})

/** Everything that is loaded with a file: packages and our files. */
function loadedWith(path: string, loaded = new Set<string>()): Set<string> {
  for (const { name } of files.get(path)?.imports.filter((imported) => imported.loaded) ?? []) {
    if (loaded.has(name)) continue
    loaded.add(name)
    loadedWith(name, loaded)
  }
  return loaded
}

test('the configuration is checked, and a cluster is run, without the libraries of the APIs and of the database', () => {
  const libraries = [...loadedWith('main.ts')].filter((name) => WEB.test(name) || /^(pg|@prisma\/.*)$/.test(name))
  expect(libraries).toEqual([])
  expect(loadedWith('instance.ts')).toContain('express')
})

test('the SDK of OpenTelemetry is loaded only if tracing is on', () => {
  const loaded = [...loadedWith('main.ts'), ...loadedWith('instance.ts')]
  expect(new Set(loaded.filter((name) => name.startsWith('@opentelemetry/')))).toEqual(new Set(['@opentelemetry/api']))
})

test('only programs read process.env', () => {
  const readers = forbiddenFiles(
    ({ readsEnvironment, imports }, path) =>
      !isProgram(path) && (readsEnvironment || imports.some(({ name }) => /^(node:)?process$/.test(name))),
  )
  expect(readers).toEqual(Object.keys(ENVIRONMENT_READERS))
})

test(`no function is longer than ${MAX_FUNCTION_LINES} lines`, () => {
  expect([...files.values()].flatMap(({ longFunctions }) => longFunctions)).toEqual(Object.keys(LONG_FUNCTIONS))
})

test(`no file is longer than ${MAX_FILE_LINES} lines`, () => {
  expect(forbiddenFiles(({ lines }) => lines > MAX_FILE_LINES)).toEqual([])
})

test('schema.prisma has its migration: npm run migrate -- create NAME writes it', () => {
  const read = (file: string) => readFileSync(join(ROOT, 'prisma', file), 'utf8')
  expect(read('migrations/schema.prisma')).toBe(read('schema.prisma'))
})

test.for(['', 'test/clients/', 'test/bench/', 'test/nodes/'])(
  '%spackage-lock.json contains no registry address',
  (dir) => {
    expect(readFileSync(join(ROOT, dir, 'package-lock.json'), 'utf8')).not.toContain('"resolved"')
  },
)
