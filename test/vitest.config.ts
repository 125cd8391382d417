import { createRequire } from 'node:module'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, MinimalReporter, type TestSpecification } from 'vitest/node'

/** Vitest starts with the slowest files of the last run, or the largest in a fresh clone. Small but slow files go first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => /\/(faults\/.*|lint)\.test\.ts$/.test(moduleId)
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

/** Prints what failed, what was skipped and why, and one line at the end. */
class Summary extends MinimalReporter {
  override reportTestSummary(): void {
    const modules = this.ctx.state.getTestModules()
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const notLoaded = modules.filter((module) => module.errors().length)
    const withState = (state: string) => tests.filter((test) => test.result().state === state)
    const skipped = withState('skipped').map((test) => {
      const { parent } = test
      if (parent.type === 'suite' && parent.state() === 'skipped') return parent.fullName // whose title has the reason
      const { note } = test.result() as { note?: string } // of a test that was skipped
      return note ? `${test.fullName} (${note})` : test.fullName
    })
    const isFiltered = this.ctx.config.testNamePattern !== undefined
    for (const title of isFiltered ? [] : new Set(skipped)) this.log(`skipped: ${title}`)
    const seconds = Math.round((performance.now() - this.start) / 1_000)
    const failed = withState('failed').length + notLoaded.length
    this.log(`${withState('passed').length} passed, ${failed} failed, ${skipped.length} skipped in ${seconds} s`)
  }
}

process.env.NO_COLOR = '1' // of the workers, which describe failures; --no-color is for Vitest itself

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  // Vite would load the .mjs of graphql for our files, and libraries its .js. This makes it one copy, as in production.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/key-leaks.ts', 'test/support/postgres.ts'],
    reporters: [new Summary()],
    testTimeout: 300_000, // only stops tests that hang; no test depends on the speed of the machine
    hookTimeout: 120_000,
    teardownTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    maxWorkers: 4, // more than the two cores, since tests often wait
    isolate: false, // loading the modules takes longer than the tests of a file; databases isolate them
  },
})
