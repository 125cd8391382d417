import { defineConfig } from 'vitest/config'
import config from './vitest.config.ts'

if (!process.env.TEST_DATABASE_URL) throw new Error('Set TEST_DATABASE_URL to the URL of a running PostgreSQL.')

/** The tests that depend on the version and the settings of PostgreSQL, on the server of TEST_DATABASE_URL. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: [
      'test/pets/*.test.ts',
      'test/store/*.test.ts',
      'test/auth/{authentication,rate-limit,scopes}.test.ts',
      'test/conformance/*.test.ts',
      'test/database/*.test.ts',
      'test/deploy/partitions.test.ts',
      'test/graphql/{pets,query-count,subscription}.test.ts',
      'test/int64.test.ts',
      'test/parity.test.ts',
      'test/rest/{pets,reads,retries}.test.ts',
    ],
    exclude: ['test/database/{replica*,roles,tls}.test.ts'], // they start servers of their own
  },
})
