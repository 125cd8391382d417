// node test/conformance/graphql-over-http.mjs: bundles the cases, then runs them.
import { bundle } from '../../src/build/bundle.mjs'

await bundle({ 'graphql-over-http': 'test/conformance/graphql-over-http.ts' }, 'test/conformance/dist')
await import('./dist/graphql-over-http.js')
