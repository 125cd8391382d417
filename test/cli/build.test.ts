import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, test as base } from 'vitest'
import { pathOf, read } from '../support/files.ts'

/** Logs its runs, and generates a client that exports the model. */
const PRISMA = `
  const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs')
  appendFileSync('log', 'prisma\\n')
  mkdirSync('src/database/generated', { recursive: true })
  const model = readFileSync('prisma/schema.prisma', 'utf8')
  if (model === 'wrong') { console.error('wrong model'); process.exit(1) }
  writeFileSync('src/database/generated/client.ts', 'export const model = ' + JSON.stringify(model))`

/** A small project with the service's build and pages, and a Prisma that is fast. */
class Project {
  readonly #folder = fs.mkdtempSync(join(tmpdir(), 'pet-store-build-'))
  readonly path = (file: string) => join(this.#folder, file)
  readonly read = (file: string) => fs.readFileSync(this.path(file), 'utf8')
  readonly remove = (file: string) => fs.rmSync(this.path(file), { recursive: true, force: true })

  /** @param from a project to copy */
  constructor(from?: Project) {
    if (from) fs.cpSync(from.path('.'), this.path('.'), { recursive: true })
    else this.#create()
  }

  #create(): void {
    // Without the pages that are built already, each test would compress GraphiQL.
    const sources = ['src/build', 'src/pages', 'src/rest/docs', 'src/graphql/graphiql', 'src/pets/examples']
    for (const path of [...sources, 'dist/public']) fs.cpSync(pathOf(path), this.path(path), { recursive: true })
    this.write('package.json', read('package.json'))
    this.write('prisma/schema.prisma', 'one')
    this.write('src/main.ts', "export * from './database/generated/client.ts'\nexport const main = 1")
    for (const name of ['keys', 'migrate']) this.write(`src/cli/${name}.ts`, 'export {}')
    this.write('node_modules/prisma-cli/package.json', '{"version":"1","bin":{"prisma":"prisma.cjs"}}')
    this.write('node_modules/prisma-cli/prisma.cjs', PRISMA)
    for (const name of ['rolldown', '@graphql-yoga/render-graphiql', 'swagger-ui-dist']) {
      fs.mkdirSync(dirname(this.path(`node_modules/${name}`)), { recursive: true })
      fs.symlinkSync(pathOf(`node_modules/${name}`), this.path(`node_modules/${name}`))
    }
  }

  write(file: string, content: string): void {
    fs.mkdirSync(dirname(this.path(file)), { recursive: true })
    fs.writeFileSync(this.path(file), content)
  }

  /** Builds, as another user if `uid` is given, which only root can. */
  build({ args = [], uid }: { args?: string[]; uid?: number } = {}) {
    return this.run('build.mjs', args, uid)
  }

  async run(program: string, args: string[] = [], uid?: number) {
    const options = { cwd: this.#folder, ...(uid !== undefined && { uid }) }
    const child = spawn(process.execPath, [`src/build/${program}`, ...args], options)
    const exited = new Promise<number | null>((resolve) => child.on('close', resolve))
    return { stderr: await text(child.stderr), code: await exited }
  }
}

const success = { code: 0, stderr: '' }

/** `built` is a copy of a project that was built. */
const test = base.extend<{ project: Project; original: Project; built: Project }>({
  project: async ({}, use) => {
    const project = new Project()
    await use(project).finally(() => project.remove('.'))
  },
  original: [
    async ({}, use) => {
      const original = new Project()
      expect(await original.build()).toEqual(success)
      await use(original).finally(() => original.remove('.'))
    },
    { scope: 'file' },
  ],
  built: async ({ original }, use) => {
    const built = new Project(original)
    await use(built).finally(() => built.remove('.'))
  },
})

describe('the build', { concurrent: true }, () => {
  test('generates the client when the model or Prisma changed, or the last run failed', async ({ project }) => {
    const changes: [string, string][] = [
      ['prisma/schema.prisma', 'two'],
      ['node_modules/prisma-cli/package.json', '{"version":"2","bin":{"prisma":"prisma.cjs"}}'],
    ]
    const generate = () => project.run('client.mjs') // which the build imports
    expect(await generate()).toEqual(success)
    for (const [file, content] of changes) {
      project.write(file, content)
      project.remove('log')
      for (let run = 0; run < 2; run++) expect(await generate()).toEqual(success)
      expect([file, project.read('log')]).toEqual([file, 'prisma\n'])
    }
    project.write('prisma/schema.prisma', 'wrong')
    expect(await generate()).toEqual({ code: 1, stderr: 'wrong model\n' })
    project.write('prisma/schema.prisma', 'three')
    project.remove('log')
    expect(await project.build()).toEqual(success)
    expect(project.read('log')).toBe('prisma\n')
    expect(project.read('dist/main.js')).toContain('"three"')
  })

  test('names the required Node, in one line, on a Node that package.json excludes', async ({ project }) => {
    const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
    const excluded = [`>=${major + 1}`, `^${major}.${minor + 1}`, `^${major - 1}.0 || ^${major + 1}.0`]
    const included = [`>=${major}`, `^${major}.${minor}`, `^${major + 1}.0 || >=${major - 1}`]
    const toError = (node: string) => `Node ${process.versions.node} cannot run this service: install Node ${node}.\n`
    const setNode = (node: string) =>
      project.write('package.json', JSON.stringify({ type: 'module', engines: { node } }))
    for (const [code, ranges] of [included, excluded].entries()) {
      for (const node of ranges) {
        setNode(node)
        const stderr = code ? toError(node) : ''
        expect(await project.run('node-version.mjs')).toEqual({ code, stderr })
      }
    }
    expect(await project.build()).toMatchObject({ code: 1 }) // of the last range
  })

  test('prints the place of an error, and leaves dist/ as it was', async ({ built: project }) => {
    const before = project.read('dist/main.js')
    project.write('src/main.ts', 'export const main: string == 2')
    expect(await project.build()).toEqual({ code: 1, stderr: expect.stringContaining('src/main.ts:1:26') })
    expect(project.read('dist/main.js')).toBe(before)
  })

  test('several times at once replaces files, so that a program that starts reads them whole', async ({
    built: project,
  }) => {
    const reader = fs.openSync(project.path('dist/main.js'), 'r')
    project.write('src/main.ts', 'export const main = 2')
    const builds = await Promise.all(Array.from({ length: 4 }, () => project.build()))
    expect(builds).toEqual(builds.map(() => success))
    expect(project.read('dist/main.js')).toContain('main = 2')
    expect(fs.readFileSync(reader, 'utf8')).toContain('main = 1')
    fs.closeSync(reader)
  })

  test('builds a page whose sources changed', async ({ project }) => {
    project.write('src/pages/home.css', '#changed {}')
    expect(await project.build()).toEqual(success)
    const [, stylesheet] = /href="(assets\/home-[^"]+)"/.exec(project.read('dist/public/home.html')) ?? []
    expect(project.read(`dist/public/${stylesheet}`)).toBe('#changed {}')
  })

  test.skipIf(process.getuid?.() !== 0)(
    'of a dist/ of another user (needs root) succeeds while it is current; otherwise one line names the file and the way out',
    async ({ built: project }) => {
      fs.chmodSync(project.path('.'), 0o755)
      expect(await project.build({ uid: 65534 })).toEqual(success)
      project.write('src/main.ts', 'export const main = 2')
      const line = /^The build cannot use dist\/main\.js\S* \(EACCES\): build as the owner of dist\/[^\n]*\n$/
      expect(await project.build({ uid: 65534 })).toEqual({ code: 1, stderr: expect.stringMatching(line) })
    },
  )

  test('without the tools, keeps the dist/ that exists, or names what is missing', async ({ built: project }) => {
    const withoutTools = async () => {
      project.remove('node_modules')
      return project.build()
    }
    for (const build of [() => project.build({ args: ['--check'] }), withoutTools]) {
      project.write('src/main.ts', 'export const main = 2')
      expect(await build()).toEqual(success)
      expect(project.read('dist/main.js')).toContain('main = 1')
    }
    project.remove('dist')
    const missing = { code: 1, stderr: 'dist/ does not exist: npm ci && npm run build\n' }
    for (const args of [[], ['--check']]) expect(await project.build({ args })).toEqual(missing)
  })
})
