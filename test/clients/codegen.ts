import type { CodegenConfig } from '@graphql-codegen/cli'

export default {
  schema: '../../schema.graphql',
  documents: 'examples/*.graphql',
  importExtension: '.ts',
  generates: {
    'generated/codegen/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false, persistedDocuments: { hashAlgorithm: 'sha256' } },
      config: { useTypeImports: true, enumsAsTypes: true },
    },
  },
} satisfies CodegenConfig
