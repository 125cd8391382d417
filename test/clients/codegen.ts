import type { CodegenConfig } from '@graphql-codegen/cli'
import shop from '../../docs/shop/codegen.ts'

const { preset, presetConfig, config } = shop.generates['src/generated/']

// The configuration that docs/clients.md shows, and a manifest of trusted documents.
export default {
  schema: '../../schema.graphql',
  documents: 'examples/*.graphql',
  generates: {
    'generated/codegen/': {
      preset,
      presetConfig: { ...presetConfig, persistedDocuments: { hashAlgorithm: 'sha256' } },
      config,
    },
  },
} satisfies CodegenConfig
