import { MALFORMED_BODIES } from '../support/cases/new-pet.ts'
import { encodings, mediaTypes } from './bodies.ts'
import { ask, type Case, json, requestCase } from './case.ts'

const times = (n: number, part: (i: number) => string) => Array.from({ length: n }, (_, i) => part(i)).join(' ')
const parsing = { status: 400, code: 'GRAPHQL_PARSE_FAILED' }
const validation = { status: 400, code: 'GRAPHQL_VALIDATION_FAILED' }
const invalid = { status: 400, code: 'INVALID_ARGUMENT' }
const notPost = { status: 405, code: 'METHOD_NOT_ALLOWED', headers: { allow: 'POST' } }
const unsupported = { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' }
const query = '{ __typename }'
const mutation = 'mutation { createPet(input: { name: "x", categoryId: 1 }) { id } }'

export const floods: [string, string][] = [
  ['aliases', `{ ${times(500, (i) => `a${i}: __typename`)} }`],
  ['aliases of animals', `{ ${times(31, (i) => `a${i}: pet(id: 1) { id }`)} }`],
  ['mutations', `mutation { ${times(21, (i) => `a${i}: createPet(input: { name: "x", categoryId: 1 }) { id }`)} }`],
  ['the same field', `{ ${times(1_900, () => '__typename')} }`],
  ['depth', `${times(400, () => '{ a')}${'}'.repeat(400)}`],
  ['directives', `{ __typename ${times(200, () => '@include(if: true)')} }`],
  ['unknown directives', `{ __typename ${times(200, (i) => `@d${i}`)} }`],
  ['fragments', `{ ...f0 } ${times(150, (i) => `fragment f${i} on Query { ...f${i + 1} }`)}`],
  [
    'doubling fragments',
    `{ ...f0 } ${times(25, (i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`)} fragment f25 on Query { a: __typename }`,
  ],
  [
    'doubling fragments without aliases',
    `{ pets { pageInfo { ...f0 } } } ${times(30, (i) => `fragment f${i} on PageInfo { ...f${i + 1} ...f${i + 1} }`)} fragment f30 on PageInfo { endCursor }`,
  ],
  ['a fragment that spreads itself', '{ ...a } fragment a on Query { ...a }'],
  [
    'a cycle of three fragments',
    '{ ...a } fragment a on Query { ...b } fragment b on Query { ...c } fragment c on Query { ...a }',
  ],
  [
    'circular introspection',
    `{ __schema { types { ${times(10, () => 'fields { type {')} name ${'} }'.repeat(10)} } } }`,
  ],
  ['large pages', `{ ${times(11, (i) => `a${i}: pets(first: 100) { nodes { id } }`)} }`],
]
export const floodsOfTokens: [string, string][] = [
  ['tokens', `{ ${times(3_000, () => 'a')} }`],
  ['variables', `query (${times(600, (i) => `$v${i}: Int`)}) { __typename }`],
  ['braces in an argument', `{ pet(id: ${'{a:'.repeat(660)}`],
  ['brackets of a type', `query ($a: ${'['.repeat(1_990)}`],
  ['inline fragments', '{ ... '.repeat(900)],
  ['list brackets', `{ pets(first: ${'['.repeat(3_000)}) { totalCount } }`],
  ['braces', '{a'.repeat(5_000)],
]

const noDocuments = [
  '',
  ' ',
  '{',
  '}',
  '{}',
  'query',
  'hello',
  '{ pets',
  '{ a(b:) }',
  '#',
  '"""',
  '\u0000',
  'null',
  '{ \u2028 }',
]
const mistakes = [
  '{ pett { id } }',
  '{ petss { totalCount } }',
  '{ pets { nodess { id } } }',
  '{ pets(stat: sold) { totalCount } }',
]
mistakes.push(
  '{ pets(status: sould) { totalCount } }',
  '{ pets(first: "1") { totalCount } }',
  '{ pet { id } }',
  '{ pet(id: 1.5) { id } }',
)
mistakes.push('{ pets }', '{ __typename { a } }', 'query ($a: Nope) { __typename }', '{ ...missing }')
mistakes.push(
  'mutation { createPet(input: { name: "x" }) { id } }',
  'mutation { createPett(input: {}) { id } }',
  '{ __type { name } }',
)

const noRequests: [string, string | object][] = [
  ['a batch', [{ query }]],
  ['an empty batch', []],
  ['without a query', {}],
  ['query null', { query: null }],
  ['query a number', { query: 1 }],
  ['query an object', { query: { a: 1 } }],
  ['query a list', { query: [query] }],
  ['variables a string', { query, variables: '{}' }],
  ['variables a list', { query, variables: [] }],
  ['variables a number', { query, variables: 1 }],
  ['operationName a number', { query, operationName: 1 }],
  ['operationName of nothing', { query, operationName: 'Nope' }],
  ['two operations and no name', { query: 'query A { __typename } query B { __typename }' }],
  ['extensions a list', { query, extensions: [] }],
]
const variables: [string, string, object][] = [
  ['a variable that is missing', 'query ($id: ID!) { pet(id: $id) { id } }', {}],
  ['a variable that is null', 'query ($id: ID!) { pet(id: $id) { id } }', { id: null }],
  ['an id that is an object', 'query ($id: ID!) { pet(id: $id) { id } }', { id: {} }],
  ['an id with a fraction', 'query ($id: ID!) { pet(id: $id) { id } }', { id: 1.5 }],
  ['an unknown status', 'query ($s: PetStatus) { pets(status: $s) { totalCount } }', { s: 'SOLD' }],
  ['a size past int32', 'query ($n: Int) { pets(first: $n) { totalCount } }', { n: 2 ** 31 }],
  ['an input without a name', 'mutation ($i: NewPet!) { createPet(input: $i) { id } }', { i: { categoryId: 1 } }],
  [
    'an input with unknown members',
    'mutation ($i: NewPet!) { createPet(input: $i) { id } }',
    { i: { name: 'x', categoryId: 1, x: 1 } },
  ],
]
const get = (parameters: string) => ({ path: `/graphql?${parameters.replaceAll(' ', '%20')}` })
const forms: [string, string, string][] = [
  ['a form', 'application/x-www-form-urlencoded', `query=${query}`],
  ['multipart', 'multipart/form-data; boundary=x', '--x--'],
  ['text/plain', 'text/plain', JSON.stringify({ query })],
  ['application/graphql', 'application/graphql', query],
  ...mediaTypes.map((type): [string, string, string] => [`the type ${type}`, type, JSON.stringify({ query })]),
]

/** "GraphQL" of the catalogue, as far as no database is needed for the answer. */
export const graphqlCases: Case[] = [
  ...floods.map(([title, text]) => ask(`a flood of ${title}`, { query: text }, validation)),
  ...floodsOfTokens.map(([title, text]) => ask(`a flood of ${title}`, { query: text }, parsing)),
  ...noDocuments.map((text) => ask(`the document ${JSON.stringify(text)}`, { query: text }, parsing)),
  ...mistakes.map((text) => ask(text, { query: text }, { ...validation, message: /^(?!.*Did you mean)/s })),
  ...MALFORMED_BODIES.map(({ title, body }) => ask(`a body that is ${title}`.slice(0, 80), body, invalid)),
  ...noRequests.map(([title, body]) => ask(`a body that is ${title}`, body, invalid)),
  ...variables.map(([title, text, values]) =>
    ask(title, { query: text, variables: values }, { ...invalid, message: /^(?!.*Did you mean)/s }),
  ),
  requestCase('a mutation by GET', get(`query=${mutation}`), notPost),
  requestCase(
    'a mutation among queries by GET',
    get(`query=query A{__typename} ${mutation.replace('mutation', 'mutation B')}&operationName=B`),
    notPost,
  ),
  ...[
    'variables={',
    'variables=[]',
    'variables=1',
    'extensions={',
    'operationName=Nope',
    'query={pets{totalCount}}',
  ].map((more) => requestCase(`?query=…&${more}`, get(`query=${query}&${more}`), invalid)),
  ...[`${'['.repeat(10_000)}${']'.repeat(10_000)}`, `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`].map((deep) =>
    ask(
      `variables nested as deep as ${deep.slice(0, 10)}…`,
      `{"query":"query ($id: ID!) { pet(id: $id) { id } }","variables":{"id":${deep}}}`,
      invalid,
    ),
  ),
  ask('a subscription', { query: 'subscription { a }' }, invalid),
  requestCase('GET without a query', { path: '/graphql' }, invalid),
  ...forms.map(([title, type, body]) =>
    requestCase(title, { method: 'POST', path: '/graphql', headers: [['Content-Type', type]], body }, unsupported),
  ),
  requestCase('no type', { method: 'POST', path: '/graphql', body: JSON.stringify({ query }) }, unsupported),
  ...encodings.map((encoding) =>
    requestCase(
      `Content-Encoding: ${encoding}`,
      { method: 'POST', path: '/graphql', headers: [json, ['Content-Encoding', encoding]], body: '{}' },
      unsupported,
    ),
  ),
  ...[false, true].map((chunked) =>
    requestCase(
      `over 64 KiB, ${chunked ? 'in chunks' : 'with its length'}`,
      { method: 'POST', path: '/graphql', headers: [json], body: `{"query":"${query.padEnd(70_000)}"}`, chunked },
      { status: 413, code: 'PAYLOAD_TOO_LARGE' },
    ),
  ),
  requestCase(
    'an Accept for images only',
    { method: 'POST', path: '/graphql', headers: [json, ['Accept', 'image/png']], body: JSON.stringify({ query }) },
    { status: 406, code: 'NOT_ACCEPTABLE' },
  ),
]

const create = (input: string, more = '') => `mutation { createPet(input: { ${input} }${more}) { id } }`

/** Operations that are run, and end with this code in their one field. */
export const wrongArguments: [string, string][] = [
  ...['first: 0', 'first: 101', 'last: -1', 'first: 1, last: 1', 'after: ""', 'before: "x"', 'after: "c29sZDox"'].map(
    (args): [string, string] => [`{ pets(${args}) { totalCount } }`, 'INVALID_ARGUMENT'],
  ),
  ...['"abc"', '"1.0"', '"1e3"', '"+1"', '"01"', '"0x1"', '"9223372036854775808"', '"٣"', `"${'9'.repeat(400)}"`].map(
    (id): [string, string] => [`{ pet(id: ${id}) { id } }`, 'NOT_FOUND'],
  ),
  ...[
    create('name: "", categoryId: 1'),
    create(`name: "${'x'.repeat(256)}", categoryId: 1`),
    create('name: "a\\u0000", categoryId: 1'),
    create('name: "x", categoryId: "1.5"'),
    create('name: "x", categoryId: 9223372036854775808'),
    create('name: "x", categoryId: 1', ', idempotencyKey: ""'),
  ].map((operation): [string, string] => [operation, 'INVALID_ARGUMENT']),
]
