// npm run conformance: bundles the suite, then runs it.
import { bundle } from '../../src/build/bundle.mjs'

await bundle({ cli: 'test/conformance/cli.ts' }, 'test/conformance/dist')
await import('./dist/cli.js')
