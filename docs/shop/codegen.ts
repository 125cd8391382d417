import type { CodegenConfig } from '@graphql-codegen/cli'

export default {
  schema: `${process.env['VITE_PET_STORE'] ?? 'http://localhost:4000'}/schema.graphql`,
  documents: 'src/*.graphql',
  generates: {
    'src/generated/': {
      preset: 'client',
      presetConfig: { fragmentMasking: false },
      config: { useTypeImports: true, scalars: { ID: 'string' } }, // a number would round an int64
    },
  },
} satisfies CodegenConfig
