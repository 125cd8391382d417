import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('..', import.meta.url))
const src = join(root, 'src')

/** Every source file of ours, as a path from src, with the paths from src and the packages that it imports. */
const files = new Map(
  readdirSync(src, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('database/generated/'))
    .map((file) => {
      const text = readFileSync(join(src, file), 'utf8')
      const specifiers = [...text.matchAll(/(?:from|import|import\()\s*'([^']+)'/g)].map((match) => match[1] ?? '')
      const imports = specifiers.map((s) => (s.startsWith('.') ? relative(src, join(src, dirname(file), s)) : s))
      return [file, { text, imports }] as const
    }),
)

/** What the files of a folder may import of ours: files, or folders that end in a slash. */
const mayImport: Record<string, string[]> = {
  'animals/': ['animals/', 'errors.ts', 'database/generated/'],
  'keys/': ['keys/', 'errors.ts', 'database/generated/'],
  'rest/': ['rest/', 'animals/', 'context.ts', 'errors.ts', 'http/'],
  'graphql/': ['graphql/', 'animals/', 'context.ts', 'errors.ts', 'http/', 'keys/rate-limiter.ts'],
  'http/': ['http/', 'errors.ts'],
  'database/': ['database/'],
  'conformance/': ['conformance/'],
  'errors.ts': ['database/failure.ts'],
  'config.ts': ['values.ts'],
  'values.ts': [],
  'context.ts': ['errors.ts', 'http/request-time.ts', 'keys/'],
  'log.ts': ['config.ts'],
  'traces/': ['traces/'],
  'entry.ts': ['config.ts', 'database/', 'traces/settings.ts'],
  'workers.ts': [],
}
/** Programs and the composition root know everything. */
const knowEverything = new Set(['main.ts', 'app.ts', 'keys/cli.ts', 'database/cli.ts', 'graphql/documents-cli.ts'])

describe('imports point one way', () => {
  for (const [file, { imports }] of files) {
    if (knowEverything.has(file)) continue
    test(file, () => {
      const rule = Object.entries(mayImport).find(([place]) =>
        place.endsWith('/') ? file.startsWith(place) : file === place,
      )
      expect(rule, 'a place in the house').toBeDefined()
      const ours = imports.filter((name) => files.has(name) || name.startsWith('database/generated/'))
      const wrong = ours.filter(
        (name) => !rule?.[1].some((place) => (place.endsWith('/') ? name.startsWith(place) : name === place)),
      )
      expect(wrong).toEqual([])
    })
  }

  test.for([
    ['animals/', /^(express|graphql|graphql-yoga|@pothos\/.*|node:http)$/],
    ['keys/', /^(express|graphql|graphql-yoga|@pothos\/.*|node:http)$/],
    ['rest/', /^(graphql|graphql-yoga|@pothos\/.*|@prisma\/.*|pg)$/],
    ['graphql/', /^(@prisma\/.*|pg)$/],
    ['http/', /^(graphql|graphql-yoga|@pothos\/.*|@prisma\/.*|pg)$/],
    ['database/', /^(express|graphql|graphql-yoga|@pothos\/.*|node:http)$/],
  ] as const)('%s knows nothing of %s', ([place, packages]) => {
    const wrong = [...files].filter(
      ([file, { imports }]) => file.startsWith(place) && imports.some((name) => packages.test(name)),
    )
    expect(wrong.map(([file]) => file)).toEqual([])
  })
})

test('only the entry reads the environment', () => {
  const readers = [...files].filter(([, { text }]) => /process\.env/.test(text)).map(([file]) => file)
  // embedded.ts hands it on to PostgreSQL's programs.
  expect(readers.sort()).toEqual(['database/embedded.ts', 'entry.ts'])
})

test('no file of ours is longer than 200 lines, but for the table of cases', () => {
  const long = [...files].filter(([, { text }]) => text.split('\n').length > 200).map(([file]) => file)
  expect(long).toEqual(['conformance/cases.ts'])
})

test('schema.prisma has its migration: npm run migrate -- create NAME writes it', () => {
  const read = (file: string) => readFileSync(join(root, 'prisma', file), 'utf8')
  expect(read('migrations/schema.prisma')).toBe(read('schema.prisma'))
})

test.for(['package-lock.json', 'test/clients/package-lock.json', 'test/bench/package-lock.json'])(
  '%s names no registry',
  (file) => {
    expect(readFileSync(join(root, file), 'utf8')).not.toContain('"resolved"')
  },
)
