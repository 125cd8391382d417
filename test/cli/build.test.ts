import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test as base } from 'vitest'
import { waitUntil } from '../support/timeouts.ts'

const src = fileURLToPath(new URL('../../src/', import.meta.url))
const typescript = createRequire(import.meta.url).resolve('typescript')

/** Logs the runs of a compiler, and executes the test's own code before and after it reads the sources. */
const LOGGED = `
  const { appendFileSync, readFileSync, writeFileSync } = require('node:fs')
  const hooks = JSON.parse(process.env.HOOKS ?? '{}')
  function replace(text) {
    if (text && readFileSync('src/main.ts', 'utf8') !== text) writeFileSync('src/main.ts', text)
  }
  exports = module.exports = { ...ts, createProgram(...args) {
    appendFileSync('log', 'tsc\\n')
    if (hooks.hang) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    replace(hooks.before)
    const program = ts.createProgram(...args)
    replace(hooks.after)
    return program
  } }`
const TYPESCRIPT = `const ts = require(${JSON.stringify(typescript)})${LOGGED}`

/** What the build uses of TypeScript's interface, for programs of one line a file: loads in a tenth of the time. */
const SMALL_COMPILER = `
  const fs = require('node:fs')
  const { resolve } = require('node:path')
  const ts = {
    getParsedCommandLineOfConfigFile: () => ({
      fileNames: fs.readdirSync('src', { recursive: true }).filter((name) => name.endsWith('.ts')),
      errors: [],
    }),
    createProgram: (names) => {
      const sources = names.map((name) => [name.replace(/ts$/, 'js'), fs.readFileSync('src/' + name, 'utf8')])
      const emit = (_, write) => {
        for (const [name, text] of sources) for (const end of ['', '.map']) write(resolve('dist', name + end), text)
      }
      return { emit }
    },
    getPreEmitDiagnostics: () => [],
  }
  ${LOGGED}`
const PRISMA = `
  const { appendFileSync, mkdirSync, readFileSync, writeFileSync } = require('node:fs')
  appendFileSync('log', 'prisma\\n')
  mkdirSync('src/database/generated', { recursive: true })
  const model = readFileSync('prisma/schema.prisma', 'utf8')
  writeFileSync('src/database/generated/client.ts', 'export const model = ' + JSON.stringify(model))`

interface Hooks {
  hang?: boolean
  before?: string
  after?: string
}

/** A small project with the service's build, a Prisma that copies the model, and a compiler. */
class Project {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pet-store-build-'))

  constructor(compiler: string) {
    cpSync(join(src, 'build.mjs'), this.path('src/build.mjs'))
    cpSync(join(src, 'build-step.mjs'), this.path('src/build-step.mjs'))
    this.write('src/build-pages.mjs', '')
    this.write('package.json', '{"type":"module"}')
    this.write('prisma/schema.prisma', 'one')
    this.write('prisma/config.ts', '')
    this.write(
      'tsconfig.json',
      '{"compilerOptions":{"module":"nodenext","lib":["es5"],"skipLibCheck":true,"types":[],"strict":true}}',
    )
    const options = { rootDir: '.', outDir: '../dist', sourceMap: true, rewriteRelativeImportExtensions: true }
    this.write('src/tsconfig.json', JSON.stringify({ extends: '../tsconfig.json', compilerOptions: options }))
    this.write('src/main.ts', 'export const main = 1')
    this.write('src/cli/keys.ts', 'export const keys = 1')
    this.write('node_modules/typescript/package.json', '{"bin":{"tsc":"tsc.js"},"main":"index.js"}')
    this.write('node_modules/typescript/index.js', compiler)
    this.write('node_modules/prisma-cli/package.json', '{"bin":{"prisma":"prisma.cjs"}}')
    this.write('node_modules/prisma-cli/prisma.cjs', PRISMA)
  }

  path(file: string): string {
    return join(this.#folder, file)
  }

  write(file: string, text: string): void {
    mkdirSync(join(this.path(file), '..'), { recursive: true })
    writeFileSync(this.path(file), text)
  }

  read(file: string): string | undefined {
    try {
      return readFileSync(this.path(file), 'utf8')
    } catch {
      return undefined
    }
  }

  remove(...files: string[]): void {
    for (const file of files) rmSync(this.path(file), { recursive: true, force: true })
  }

  start(hooks: Hooks = {}, ...args: string[]) {
    const env = { ...process.env, HOOKS: JSON.stringify(hooks) }
    return this.#collect(spawn(process.execPath, ['src/build.mjs', ...args], { cwd: this.#folder, env }))
  }

  /** Builds as another user, who may read the project. */
  startAs(uid: number) {
    chmodSync(this.#folder, 0o755)
    return this.#collect(spawn(process.execPath, ['src/build.mjs'], { cwd: this.#folder, uid }))
  }

  #collect(child: ChildProcessWithoutNullStreams) {
    let stderr = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
    const exited = new Promise<{ code: number | null; stderr: string }>((resolve) =>
      child.on('close', (code) => resolve({ code, stderr })),
    )
    return { child, exited }
  }

  /** Builds. @returns the tools that ran */
  async build(hooks: Hooks = {}, ...args: string[]): Promise<string[]> {
    this.remove('log')
    expect(await this.start(hooks, ...args).exited).toEqual({ code: 0, stderr: '' })
    return this.log()
  }

  log(): string[] {
    return this.read('log')?.trim().split('\n') ?? []
  }
}

const test = base.extend<{ compiler: string; project: Project }>({
  compiler: SMALL_COMPILER,
  project: async ({ compiler }, use) => {
    const project = new Project(compiler)
    await use(project).finally(() => project.remove('.'))
  },
})

const testWithTypeScript = test.extend({ compiler: TYPESCRIPT })

describe('the build', { concurrent: true }, () => {
  testWithTypeScript('runs what is not fresh, and nothing else', async ({ project }) => {
    expect(await project.build({}, '--client')).toEqual(['prisma'])
    expect(await project.build()).toEqual(['tsc'])
    expect(project.read('dist/main.js')).toContain('main = 1')
    expect(project.read('dist/database/generated/client.js')).toContain('"one"')
    expect(await project.build()).toEqual([])

    project.write('prisma/schema.prisma', 'two')
    expect(await project.build()).toEqual(['prisma', 'tsc'])
    expect(project.read('dist/database/generated/client.js')).toContain('"two"')
    for (const file of ['src/tsconfig.json', 'package-lock.json']) {
      project.write(file, `${project.read(file) ?? '{}'}\n`)
      expect([file, await project.build()]).toEqual([file, expect.arrayContaining(['tsc'])])
      expect([file, await project.build()]).toEqual([file, []])
    }
  })

  test('compares contents, not times', async ({ project }) => {
    await project.build()
    project.write('src/main.ts', 'export const main = 2')
    project.write('prisma/schema.prisma', 'two')
    for (const file of ['src/main.ts', 'prisma/schema.prisma']) utimesSync(project.path(file), 1, 1)
    expect(await project.build()).toEqual(['prisma', 'tsc'])
    expect(project.read('dist/main.js')).toContain('main = 2')
    utimesSync(project.path('src/main.ts'), new Date(), new Date())
    expect(await project.build()).toEqual([])
  })

  test('deletes what a deleted source was compiled to, and nothing else', async ({ project }) => {
    await project.build()
    project.write('dist/public/home.html', 'home')
    project.remove('src/cli')
    await project.build()
    const files = ['dist/cli/keys.js', 'dist/cli/keys.js.map', 'dist/main.js', 'dist/public/home.html']
    expect(files.map((file) => project.read(file) !== undefined)).toEqual([false, false, true, true])
  })

  test.for(['dist/main.js', 'src/database/generated/client.ts', 'dist/.src.json'])(
    'restores %s when it was deleted or half written',
    async (file, { project }) => {
      await project.build()
      const content = project.read(file) ?? ''
      project.remove(file)
      expect(await project.build()).not.toEqual([])
      expect(project.read(file)).toBe(content)
      project.write(file, content.slice(0, content.length / 2))
      expect(await project.build()).not.toEqual([])
      expect(project.read(file)).toBe(content)
    },
  )

  testWithTypeScript(
    'an error is printed, fails every build until it is mended, and leaves dist/ as it was',
    async ({ project }) => {
      await project.build()
      const before = project.read('dist/main.js')
      project.write('src/main.ts', 'export const main: string = 2')
      for (let run = 0; run < 2; run++) {
        const { code, stderr } = await project.start().exited
        expect({ code, stderr }).toEqual({
          code: 1,
          stderr: expect.stringMatching(/^src\/main\.ts\(1,14\): error TS2322/),
        })
        expect(project.read('dist/main.js')).toBe(before)
      }
      project.write('src/main.ts', 'export const main = 3')
      await project.build()
      expect(project.read('dist/main.js')).toContain('main = 3')
    },
  )

  test('after a SIGKILL the next build completes', async ({ project }) => {
    await project.build()
    project.write('src/main.ts', 'export const main = 2')
    project.remove('log')
    const { child, exited } = project.start({ hang: true })
    await waitUntil(async () => project.log().includes('tsc'))
    child.kill('SIGKILL')
    await exited
    expect(await project.build()).toEqual(['tsc'])
    expect(project.read('dist/main.js')).toContain('main = 2')
  })

  test('builds at the same time succeed, and leave a fresh dist/', async ({ project }) => {
    await project.build()
    project.write('src/main.ts', 'export const main = 2')
    const builds = await Promise.all([1, 2, 3].map(() => project.start().exited))
    expect(builds).toEqual(builds.map(() => ({ code: 0, stderr: '' })))
    expect(project.read('dist/main.js')).toContain('main = 2')
    expect(await project.build()).toEqual([])
  })

  test('a source that changes during the build is compiled again', async ({ project }) => {
    const [one, two] = ['export const main = 1', 'export const main = 2']
    expect(await project.build({ after: two })).toEqual(['prisma', 'tsc', 'tsc'])
    expect(project.read('dist/main.js')).toContain('main = 2')
    project.remove('dist/main.js')
    // The compiler always reads one state between two equal ones.
    const { code, stderr } = await project.start({ before: one, after: two }).exited
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'The files change while they are built.\n' })
    await project.build()
    expect(project.read('dist/main.js')).toContain('main = 2')
  })

  test.skipIf(process.getuid?.() !== 0)(
    'a dist/ of another user is used while it is fresh; otherwise one line names the file and the way out',
    async ({ project }) => {
      await project.build()
      expect(await project.startAs(65534).exited).toEqual({ code: 0, stderr: '' })
      project.write('src/main.ts', 'export const main = 2')
      chmodSync(project.path('log'), 0o666) // of this test's compiler
      const line = /^The build cannot use dist\/main\.js\S* \(EACCES\): build as the owner of dist\/[^\n]*\n$/
      expect(await project.startAs(65534).exited).toEqual({ code: 1, stderr: expect.stringMatching(line) })
      expect(await project.build()).toEqual(['tsc'])
    },
  )

  test('without the tools it keeps the dist/ that exists, and names what is missing without one', async ({
    project,
  }) => {
    await project.build()
    project.write('src/main.ts', 'export const main = 2')
    project.remove('node_modules')
    expect(await project.build()).toEqual([])
    expect(project.read('dist/main.js')).toContain('main = 1')
    project.remove('dist')
    const message = 'dist/ does not exist, and the tools to build it are not installed: npm ci && npm run build\n'
    expect(await project.start().exited).toEqual({ code: 1, stderr: message })
  })
})
