import { defineConfig } from 'vitest/config'
import service from '../vitest.config.ts'

// As the service's own tests, with the clients' code generated first.
export default defineConfig({
  ...service,
  test: {
    ...service.test,
    include: ['test/clients/*.client.ts'],
    globalSetup: ['test/clients/generate.ts', 'test/support/key-leaks.ts', 'test/support/postgres.ts'],
  },
})
