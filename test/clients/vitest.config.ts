import { defineConfig } from 'vitest/config'
import service from '../vitest.config.ts'

/** Replaces graphql`…` with the artifact of relay-compiler, as babel-plugin-relay does in a bundler. */
const relay = {
  name: 'relay',
  enforce: 'pre' as const,
  transform(code: string, file: string): string | undefined {
    if (!file.includes('/examples/relay/')) return undefined
    const imports: string[] = []
    const replaced = code.replace(
      /graphql`\s*(?:query|mutation|subscription|fragment) (\w+)[^`]*`/g,
      (_tag, name: string) => {
        imports.push(`import ${name}Artifact from '../../generated/relay/${name}.graphql.ts'`)
        return `${name}Artifact`
      },
    )
    return [...imports, replaced].join('\n')
  },
}

// The configuration of the service's tests, with a setup that generates the code of the clients.
export default defineConfig({
  ...service,
  plugins: [relay],
  logLevel: 'error', // @actions/ is published without the sources that its source maps name
  test: {
    ...service.test,
    include: ['test/clients/*.client.ts'],
    onConsoleLog: (text) => !text.startsWith('oidc-provider'), // warnings about what production needs
    server: { deps: { inline: [/@actions\//] } }, // they import JSON as only bundlers do
    globalSetup: ['test/clients/generate.ts', 'test/support/key-leaks.ts', 'test/support/postgres.ts'],
  },
})
