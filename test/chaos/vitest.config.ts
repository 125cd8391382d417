import { defineConfig } from 'vitest/config'
import service from '../vitest.config.ts'

// The parts bring databases of their own, on disk; each takes as long as it takes.
export default defineConfig({
  ...service,
  test: {
    include: ['test/chaos/parts.run.ts'],
    testTimeout: 3_600_000,
    hookTimeout: 60_000,
    disableConsoleIntercept: true,
  },
})
