import { fileURLToPath } from 'node:url'
import graphql from '@graphql-eslint/eslint-plugin'

const schema = fileURLToPath(new URL('../../schema.graphql', import.meta.url))
const recommended = graphql.configs['flat/schema-recommended'].rules
const [, { EnumValueDefinition: enumValues, ...naming }] = recommended['@graphql-eslint/naming-convention']

export default [
  {
    files: ['**/*.graphql'],
    languageOptions: { parser: graphql.parser, parserOptions: { graphQLConfig: { schema } } },
    plugins: { '@graphql-eslint': graphql },
    rules: {
      ...recommended,
      ...graphql.configs['flat/schema-relay'].rules,
      '@graphql-eslint/require-description': [
        'error',
        { types: true, rootField: true, FieldDefinition: true, InputValueDefinition: true, EnumValueDefinition: true },
      ],
      // PetStatus keeps the spelling of the REST contract, so that both faces say `available`.
      '@graphql-eslint/naming-convention': [
        'error',
        { ...naming, 'EnumValueDefinition[parent.name.value!=PetStatus]': enumValues },
      ],
      // What Relay's specification makes of a list has no identity of its own.
      '@graphql-eslint/strict-id-in-types': [
        'error',
        { exceptions: { types: ['PageInfo'], suffixes: ['Connection', 'Edge'] } },
      ],
      '@graphql-eslint/relay-edge-types': [
        'error',
        {
          withEdgeSuffix: true,
          // Only for fetching any object anew by its id, which no connection needs: an animal is had by `pet(id)`.
          shouldImplementNode: false,
          // A connection has `nodes` beside `edges`, as GitHub's, for those who need no cursor of each animal.
          listTypeCanWrapOnlyEdgeType: false,
        },
      ],
    },
  },
]
