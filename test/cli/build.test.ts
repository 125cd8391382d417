import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test as base } from 'vitest'
import { waitUntil } from '../support/timeouts.ts'

const src = fileURLToPath(new URL('../../src/', import.meta.url))
const realRolldown = pathToFileURL(createRequire(import.meta.url).resolve('rolldown')).href

/** Logs the runs of a bundler, and executes the test's own code before and after it reads the sources. */
const LOGGED = `
  const hooks = JSON.parse(process.env.HOOKS ?? '{}')
  function replace(text) {
    if (text && fs.readFileSync('src/main.ts', 'utf8') !== text) fs.writeFileSync('src/main.ts', text)
  }
  export async function rolldown(input) {
    fs.appendFileSync('log', 'rolldown\\n')
    if (hooks.hang) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)
    replace(hooks.before)
    const build = await bundler.rolldown(input)
    const generate = (output) => build.generate(output).finally(() => replace(hooks.after))
    return { generate, close: () => build.close() }
  }`
const ROLLDOWN = `import fs from 'node:fs'\nimport * as bundler from ${JSON.stringify(realRolldown)}${LOGGED}`

/** What the build uses of Rolldown's interface; copies each file. It loads in a tenth of the time. */
const SMALL_BUNDLER = `
  import fs from 'node:fs'
  async function generate() {
    const names = fs.readdirSync('src', { recursive: true }).filter((name) => name.endsWith('.ts'))
    const output = names.flatMap((name) => {
      const [fileName, code] = [name.replace(/ts$/, 'js'), fs.readFileSync('src/' + name, 'utf8')]
      return [{ fileName, code }, { fileName: fileName + '.map', source: code }]
    })
    return { output }
  }
  const bundler = { rolldown: async () => ({ generate, close: async () => {} }) }
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

/** A small project with the service's build, a Prisma that copies the model, and a bundler. */
class Project {
  readonly #folder = mkdtempSync(join(tmpdir(), 'pet-store-build-'))

  constructor(bundler: string) {
    for (const name of ['build.mjs', 'build-step.mjs', 'build-bundle.mjs'])
      cpSync(join(src, name), this.path(`src/${name}`))
    this.write('src/build-pages.mjs', '')
    this.write('package.json', '{"type":"module"}')
    this.write('prisma/schema.prisma', 'one')
    this.write('prisma/config.ts', '')
    this.write('src/main.ts', "export * from './database/generated/client.ts'\nexport const main = 1")
    for (const name of ['keys', 'migrate']) this.write(`src/cli/${name}.ts`, 'export {}')
    this.write('node_modules/rolldown/package.json', '{"type":"module","main":"index.js"}')
    this.write('node_modules/rolldown/index.js', bundler)
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

const test = base.extend<{ bundler: string; project: Project }>({
  bundler: SMALL_BUNDLER,
  project: async ({ bundler }, use) => {
    const project = new Project(bundler)
    await use(project).finally(() => project.remove('.'))
  },
})

const testWithRolldown = test.extend({ bundler: ROLLDOWN })

describe('the build', { concurrent: true }, () => {
  testWithRolldown('runs what is not fresh, and nothing else', async ({ project }) => {
    expect(await project.build({}, '--client')).toEqual(['prisma'])
    expect(await project.build()).toEqual(['rolldown'])
    expect(project.read('dist/main.js')).toMatch(/"one"[^]*main = 1/)
    expect(await project.build()).toEqual([])

    project.write('prisma/schema.prisma', 'two')
    expect(await project.build()).toEqual(['prisma', 'rolldown'])
    expect(project.read('dist/main.js')).toContain('"two"')
    for (const file of ['src/build-bundle.mjs', 'package-lock.json']) {
      project.write(file, `${project.read(file) ?? '{}'}\n`)
      expect([file, await project.build()]).toEqual([file, expect.arrayContaining(['rolldown'])])
      expect([file, await project.build()]).toEqual([file, []])
    }
  })

  test('compares contents, not times', async ({ project }) => {
    await project.build()
    project.write('src/main.ts', 'export const main = 2')
    project.write('prisma/schema.prisma', 'two')
    for (const file of ['src/main.ts', 'prisma/schema.prisma']) utimesSync(project.path(file), 1, 1)
    expect(await project.build()).toEqual(['prisma', 'rolldown'])
    expect(project.read('dist/main.js')).toContain('main = 2')
    utimesSync(project.path('src/main.ts'), new Date(), new Date())
    expect(await project.build()).toEqual([])
  })

  test('deletes what a deleted source was bundled to, and nothing else', async ({ project }) => {
    await project.build()
    project.write('dist/public/home.html', 'home')
    project.remove('src/cli')
    await project.build()
    const files = ['dist/cli/keys.js', 'dist/cli/keys.js.map', 'dist/main.js', 'dist/public/home.html']
    expect(files.map((file) => project.read(file) !== undefined)).toEqual([false, false, true, true])
  })

  test.for(['dist/main.js', 'src/database/generated/client.ts', 'dist/.bundle.json'])(
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

  testWithRolldown(
    'an error is printed, fails every build until it is mended, and leaves dist/ as it was',
    async ({ project }) => {
      await project.build()
      const before = project.read('dist/main.js')
      project.write('src/main.ts', 'export const main: string == 2')
      for (let run = 0; run < 2; run++) {
        const { code, stderr } = await project.start().exited
        expect({ code, stderr }).toEqual({
          code: 1,
          stderr: expect.stringContaining('src/main.ts:1:26'),
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
    await waitUntil(async () => project.log().includes('rolldown'))
    child.kill('SIGKILL')
    await exited
    expect(await project.build()).toEqual(['rolldown'])
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

  test('a source that changes during the build is bundled again', async ({ project }) => {
    const [one, two] = ['export const main = 1', 'export const main = 2']
    expect(await project.build({ after: two })).toEqual(['prisma', 'rolldown', 'rolldown'])
    expect(project.read('dist/main.js')).toContain('main = 2')
    project.remove('dist/main.js')
    // The bundler always reads one state between two equal ones.
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
      chmodSync(project.path('log'), 0o666) // of this test's bundler
      const line = /^The build cannot use dist\/main\.js\S* \(EACCES\): build as the owner of dist\/[^\n]*\n$/
      expect(await project.startAs(65534).exited).toEqual({ code: 1, stderr: expect.stringMatching(line) })
      expect(await project.build()).toEqual(['rolldown'])
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
