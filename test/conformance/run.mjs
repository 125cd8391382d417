// npm run conformance: compiles the suite unless it is fresh, then runs it.
import { compile, list } from '../../src/build-step.mjs'

compile({
  project: 'test/conformance/tsconfig.json',
  stamp: 'test/conformance/dist/.stamp.json',
  inputs: () =>
    ['test/conformance', 'test/support/cases', 'src/cli', 'src'].flatMap((path) => list(path, /^[^/]+\.ts$/)),
})
await import('./dist/test/conformance/cli.js')
