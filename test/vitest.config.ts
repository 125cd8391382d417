import { createRequire } from 'node:module'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Vitest begins with what took longest the last time, or is longest in a fresh clone: short files that take long go first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => /\/(faults\/.*|cluster)\.test\.ts$/.test(moduleId)
    const sorted = await super.sort(files)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default defineConfig({
  root: new URL('..', import.meta.url).pathname,
  // Vite would take graphql's .mjs for our files while libraries take its .js: one copy, as in production.
  resolve: { alias: [{ find: /^graphql$/, replacement: createRequire(import.meta.url).resolve('graphql') }] },
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/key-leaks.ts', 'test/support/postgres.ts'],
    testTimeout: 300_000, // ends what hangs; no test depends on the speed of the machine
    hookTimeout: 300_000,
    teardownTimeout: 60_000,
    sequence: { sequencer: LongestFirst },
    maxWorkers: 3, // for two cores: some always wait
    isolate: false, // loading the modules for each file took longer than its tests; each has its own database
  },
})
