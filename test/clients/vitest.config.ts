import { defineConfig } from 'vitest/config'
import service from '../vitest.config.ts'

// The configuration of the service's tests, with a setup that generates the code of the clients.
export default defineConfig({
  ...service,
  test: {
    ...service.test,
    include: ['test/clients/*.client.ts'],
    globalSetup: ['test/clients/generate.ts', 'test/support/key-leaks.ts', 'test/support/postgres.ts'],
  },
})
