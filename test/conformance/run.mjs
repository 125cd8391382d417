// npm run conformance: bundles the suite unless it is fresh, then runs it.
import { bundle } from '../../src/build-bundle.mjs'
import { list } from '../../src/build-step.mjs'

await bundle({
  programs: { cli: 'test/conformance/cli.ts' },
  dir: 'test/conformance/dist',
  sources: () =>
    ['test/conformance', 'test/support/cases', 'src/cli', 'src'].flatMap((path) => list(path, /^[^/]+\.ts$/)),
})
await import('./dist/cli.js')
