import { execFile } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test as base } from 'vitest'
import { pathOf } from '../support/files.ts'

/** Logs its runs, and generates a client that exports the model. */
const PRISMA = `
  const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs')
  appendFileSync('log', 'prisma\\n')
  mkdirSync('src/database/generated', { recursive: true })
  const model = readFileSync('prisma/schema.prisma', 'utf8')
  if (model === 'wrong') { console.error('wrong model'); process.exit(1) }
  writeFileSync('src/database/generated/client.ts', 'export const model = ' + JSON.stringify(model))`

/** Without the pages that are built already, each test would compress GraphiQL. */
const COPIED = 'package.json src/build src/pages src/pets/examples dist/public'

/** A small project with the service's build and pages, and a Prisma that is fast. */
function createProject() {
  const folder = fs.mkdtempSync(join(tmpdir(), 'pet-store-build-'))
  const path = (file: string) => join(folder, file)
  const write = (file: string, content: string) => {
    fs.mkdirSync(dirname(path(file)), { recursive: true })
    fs.writeFileSync(path(file), content)
  }
  /** Runs a program, as another user if `uid` is given, which only root can. */
  const run = (program: string, args: string[] = [], uid?: number) =>
    promisify(execFile)(process.execPath, [`src/build/${program}`, ...args], {
      cwd: folder,
      ...(uid !== undefined && { uid }),
    }).then(
      ({ stderr }) => ({ code: 0, stderr }),
      ({ code, stderr }: { code: number; stderr: string }) => ({ code, stderr }),
    )

  for (const copied of COPIED.split(' ')) fs.cpSync(pathOf(copied), path(copied), { recursive: true })
  write('prisma/schema.prisma', 'one')
  write('src/main.ts', "export * from './database/generated/client.ts'\nexport const main = 1")
  for (const name of ['keys', 'migrate']) write(`src/cli/${name}.ts`, 'export {}')
  write('node_modules/prisma-cli/package.json', '{"version":"1","bin":{"prisma":"prisma.cjs"}}')
  write('node_modules/prisma-cli/prisma.cjs', PRISMA)
  fs.mkdirSync(path('node_modules/@graphql-yoga'))
  for (const name of ['rolldown', '@graphql-yoga/render-graphiql', 'swagger-ui-dist'])
    fs.symlinkSync(pathOf(`node_modules/${name}`), path(`node_modules/${name}`))
  return {
    path,
    write,
    read: (file: string) => fs.readFileSync(path(file), 'utf8'),
    remove: (file: string) => fs.rmSync(path(file), { recursive: true, force: true }),
    run,
    build: (args?: string[], uid?: number) => run('build.mjs', args, uid),
  }
}

const success = { code: 0, stderr: '' }

const test = base.extend<{ project: ReturnType<typeof createProject> }>({
  project: async ({}, use) => {
    const project = createProject()
    await use(project).finally(() => project.remove('.'))
  },
})

describe('the build', { concurrent: true }, () => {
  test('generates the client when the model or Prisma changed, or the last run failed', async ({ project }) => {
    const generate = () => project.run('client.mjs') // which the build imports
    expect(await generate()).toEqual(success)
    for (const [file, content] of [
      ['prisma/schema.prisma', 'two'],
      ['node_modules/prisma-cli/package.json', '{"version":"2","bin":{"prisma":"prisma.cjs"}}'],
    ] as const) {
      project.write(file, content)
      project.remove('log')
      for (let run = 0; run < 2; run++) expect(await generate()).toEqual(success)
      expect([file, project.read('log')]).toEqual([file, 'prisma\n'])
    }
    project.write('prisma/schema.prisma', 'wrong')
    expect(await generate()).toEqual({ code: 1, stderr: 'wrong model\n' })
    project.write('prisma/schema.prisma', 'three')
    expect(await project.build()).toEqual(success)
    expect(project.read('dist/main.js')).toContain('"three"')
  })

  test('names the required Node, in one line, on a Node that package.json excludes', async ({ project }) => {
    const { node: version } = process.versions
    const [major = 0, minor = 0] = version.split('.').map(Number)
    const excluded = [`>=${major + 1}`, `^${major - 1}.0 || ^${major + 1}.0`, `^${major}.${minor + 1}`]
    const included = [`^${major}.${minor}`, `^${major + 1}.0 || >=${major - 1}`]
    for (const node of [...included, ...excluded]) {
      project.write('package.json', JSON.stringify({ type: 'module', engines: { node } }))
      const error = { code: 1, stderr: `Node ${version} cannot run this service: install Node ${node}.\n` }
      expect(await project.run('node-version.mjs')).toEqual(included.includes(node) ? success : error)
    }
    expect(await project.build()).toMatchObject({ code: 1 }) // of the last range
  })

  test('prints the place of an error, and leaves dist/ as it was', async ({ project }) => {
    expect(await project.build()).toEqual(success)
    const before = project.read('dist/main.js')
    project.write('src/main.ts', 'export const main: string == 2')
    expect(await project.build()).toEqual({ code: 1, stderr: expect.stringContaining('src/main.ts:1:26') })
    expect(project.read('dist/main.js')).toBe(before)
  })

  test('several times at once replaces files, so that a program that starts reads them whole', async ({ project }) => {
    expect(await project.build()).toEqual(success)
    const reader = fs.openSync(project.path('dist/main.js'), 'r')
    project.write('src/main.ts', 'export const main = 2')
    expect(await Promise.all([project.build(), project.build()])).toEqual([success, success])
    expect(project.read('dist/main.js')).toContain('main = 2')
    expect(fs.readFileSync(reader, 'utf8')).toContain('main = 1')
    fs.closeSync(reader)
  })

  test('builds a page whose sources changed', async ({ project }) => {
    project.write('src/pages/home/home.css', '#changed {}')
    expect(await project.build()).toEqual(success)
    const [, stylesheet] = /href="(assets\/home-[^"]+)"/.exec(project.read('dist/public/home.html')) ?? []
    expect(project.read(`dist/public/${stylesheet}`)).toBe('#changed {}')
  })

  test.skipIf(process.getuid?.() !== 0)(
    'of a dist/ of another user (needs root) succeeds while it is current; otherwise one line names the file and the way out',
    async ({ project }) => {
      expect(await project.build()).toEqual(success)
      fs.chmodSync(project.path('.'), 0o755)
      expect(await project.build([], 65534)).toEqual(success)
      project.write('src/main.ts', 'export const main = 2')
      const line = /^The build cannot use dist\/main\.js\S* \(EACCES\): build as the owner of dist\/[^\n]*\n$/
      expect(await project.build([], 65534)).toEqual({ code: 1, stderr: expect.stringMatching(line) })
    },
  )

  test('without the tools, or with --check, keeps the dist/ that exists, or names what is missing', async ({
    project,
  }) => {
    expect(await project.build()).toEqual(success)
    project.write('src/main.ts', 'export const main = 2')
    expect(await project.build(['--check'])).toEqual(success)
    project.remove('node_modules')
    expect(await project.build()).toEqual(success)
    expect(project.read('dist/main.js')).toContain('main = 1')
    project.remove('dist')
    const missing = { code: 1, stderr: 'dist/ does not exist: npm ci && npm run build\n' }
    for (const args of [[], ['--check']]) expect(await project.build(args)).toEqual(missing)
  })
})
