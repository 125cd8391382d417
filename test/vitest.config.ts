import { createRequire } from 'node:module'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Vitest starts with the slowest files of the last run, or the largest in a fresh clone. Small but slow files go first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => /\/(faults\/.*|cluster)\.test\.ts$/.test(moduleId)
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  // Vite would load the .mjs of graphql for our files, and libraries its .js. This makes it one copy, as in production.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/key-leaks.ts', 'test/support/postgres.ts'],
    testTimeout: 300_000, // only stops tests that hang; no test depends on the speed of the machine
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    maxWorkers: 4, // more than the two cores, since tests often wait
    isolate: false, // loading the modules takes longer than the tests of a file; databases isolate them
  },
})
