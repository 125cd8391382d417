import { INVALID_NAMES, MALFORMED_BODIES, OUT_OF_RANGE_CATEGORY_IDS } from '../support/cases/new-pet.ts'
import { encodings, mediaTypes } from './bodies.ts'
import { type Case, json, postGraphQL, requestCase } from './case.ts'

const times = (n: number, part: (i: number) => string) => Array.from({ length: n }, (_, i) => part(i)).join(' ')
const parsing = { status: 400, code: 'GRAPHQL_PARSE_FAILED' }
const validation = { status: 400, code: 'GRAPHQL_VALIDATION_FAILED' }
const invalid = { status: 400, code: 'INVALID_ARGUMENT' }
const notPost = { status: 405, code: 'METHOD_NOT_ALLOWED', headers: { allow: 'POST' } }
const unsupported = { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' }
const query = '{ __typename }'
const mutation = 'mutation { createPet(input: { name: "x", categoryId: 1 }) { id } }'

/** Queries above a limit, which validation rejects. */
export const floods: { title: string; query: string }[] = [
  { title: 'aliases', query: `{ ${times(500, (i) => `a${i}: __typename`)} }` },
  { title: 'aliases of animals', query: `{ ${times(31, (i) => `a${i}: pet(id: 1) { id }`)} }` },
  {
    title: 'mutations',
    query: `mutation { ${times(21, (i) => `a${i}: createPet(input: { name: "x", categoryId: 1 }) { id }`)} }`,
  },
  { title: 'the same field', query: `{ ${times(1_900, () => '__typename')} }` },
  { title: 'depth', query: `${times(400, () => '{ a')}${'}'.repeat(400)}` },
  { title: 'directives', query: `{ __typename ${times(200, () => '@include(if: true)')} }` },
  { title: 'unknown directives', query: `{ __typename ${times(200, (i) => `@d${i}`)} }` },
  { title: 'fragments', query: `{ ...f0 } ${times(150, (i) => `fragment f${i} on Query { ...f${i + 1} }`)}` },
  {
    title: 'doubling fragments',
    query: `{ ...f0 } ${times(25, (i) => `fragment f${i} on Query { ...f${i + 1} ...f${i + 1} }`)} fragment f25 on Query { a: __typename }`,
  },
  {
    title: 'doubling fragments without aliases',
    query: `{ pets { pageInfo { ...f0 } } } ${times(30, (i) => `fragment f${i} on PageInfo { ...f${i + 1} ...f${i + 1} }`)} fragment f30 on PageInfo { endCursor }`,
  },
  { title: 'a fragment that spreads itself', query: '{ ...a } fragment a on Query { ...a }' },
  {
    title: 'a cycle of three fragments',
    query: '{ ...a } fragment a on Query { ...b } fragment b on Query { ...c } fragment c on Query { ...a }',
  },
  {
    title: 'circular introspection',
    query: `{ __schema { types { ${times(10, () => 'fields { type {')} name ${'} }'.repeat(10)} } } }`,
  },
  { title: 'large pages', query: `{ ${times(11, (i) => `a${i}: pets(first: 100) { nodes { id } }`)} }` },
]

/** Queries above the limit of tokens, which the parser rejects. */
export const floodsOfTokens: { title: string; query: string }[] = [
  { title: 'tokens', query: `{ ${times(3_000, () => 'a')} }` },
  { title: 'variables', query: `query (${times(600, (i) => `$v${i}: Int`)}) { __typename }` },
  { title: 'braces in an argument', query: `{ pet(id: ${'{a:'.repeat(660)}` },
  { title: 'brackets of a type', query: `query ($a: ${'['.repeat(1_990)}` },
  { title: 'inline fragments', query: '{ ... '.repeat(900) },
  { title: 'list brackets', query: `{ pets(first: ${'['.repeat(3_000)}) { totalCount } }` },
  { title: 'braces', query: '{a'.repeat(5_000) },
]

const malformedDocuments = [
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
const invalidDocuments = [
  '{ pett { id } }',
  '{ petss { totalCount } }',
  '{ pets { nodess { id } } }',
  '{ pets(stat: sold) { totalCount } }',
]
invalidDocuments.push(
  '{ pets(status: sould) { totalCount } }',
  '{ pets(first: "1") { totalCount } }',
  '{ pet { id } }',
  '{ pet(id: 1.5) { id } }',
)
invalidDocuments.push('{ pets }', '{ __typename { a } }', 'query ($a: Nope) { __typename }', '{ ...missing }')
invalidDocuments.push(
  'mutation { createPet(input: { name: "x" }) { id } }',
  'mutation { createPett(input: {}) { id } }',
  '{ __type { name } }',
)

const invalidRequests: { title: string; body: object }[] = [
  { title: 'a batch', body: [{ query }] },
  { title: 'an empty batch', body: [] },
  { title: 'no query', body: {} },
  { title: 'a query that is null', body: { query: null } },
  { title: 'a query that is a number', body: { query: 1 } },
  { title: 'a query that is an object', body: { query: { a: 1 } } },
  { title: 'a query that is a list', body: { query: [query] } },
  { title: 'variables that are a string', body: { query, variables: '{}' } },
  { title: 'variables that are a list', body: { query, variables: [] } },
  { title: 'variables that are a number', body: { query, variables: 1 } },
  { title: 'an operationName that is a number', body: { query, operationName: 1 } },
  { title: 'an unknown operationName', body: { query, operationName: 'Nope' } },
  { title: 'two operations and no operationName', body: { query: 'query A { __typename } query B { __typename }' } },
  { title: 'extensions that are a list', body: { query, extensions: [] } },
]
const invalidVariables: { title: string; query: string; variables: object }[] = [
  { title: 'a missing variable', query: 'query ($id: ID!) { pet(id: $id) { id } }', variables: {} },
  { title: 'a variable that is null', query: 'query ($id: ID!) { pet(id: $id) { id } }', variables: { id: null } },
  { title: 'an id that is an object', query: 'query ($id: ID!) { pet(id: $id) { id } }', variables: { id: {} } },
  { title: 'an id with a fraction', query: 'query ($id: ID!) { pet(id: $id) { id } }', variables: { id: 1.5 } },
  {
    title: 'an unknown status',
    query: 'query ($s: PetStatus) { pets(status: $s) { totalCount } }',
    variables: { s: 'SOLD' },
  },
  {
    title: 'a page size beyond int32',
    query: 'query ($n: Int) { pets(first: $n) { totalCount } }',
    variables: { n: 2 ** 31 },
  },
  {
    title: 'an input without a name',
    query: 'mutation ($i: NewPet!) { createPet(input: $i) { id } }',
    variables: { i: { categoryId: 1 } },
  },
  {
    title: 'an input with unknown members',
    query: 'mutation ($i: NewPet!) { createPet(input: $i) { id } }',
    variables: { i: { name: 'x', categoryId: 1, x: 1 } },
  },
]
const get = (parameters: string) => ({ path: `/graphql?${parameters.replaceAll(' ', '%20')}` })
const unsupportedBodies: { title: string; type: string; body: string }[] = [
  { title: 'a form', type: 'application/x-www-form-urlencoded', body: `query=${query}` },
  { title: 'multipart', type: 'multipart/form-data; boundary=x', body: '--x--' },
  { title: 'text/plain', type: 'text/plain', body: JSON.stringify({ query }) },
  { title: 'application/graphql', type: 'application/graphql', body: query },
  ...mediaTypes.map((type) => ({ title: `Content-Type: ${type}`, type, body: JSON.stringify({ query }) })),
]

/** GraphQL requests that are rejected without a query to the database. */
export const graphqlCases: Case[] = [
  ...floods.map(({ title, query }) => postGraphQL(`a flood of ${title}`, { query }, validation)),
  ...floodsOfTokens.map(({ title, query }) => postGraphQL(`a flood of ${title}`, { query }, parsing)),
  ...malformedDocuments.map((text) => postGraphQL(`the document ${JSON.stringify(text)}`, { query: text }, parsing)),
  ...invalidDocuments.map((text) =>
    postGraphQL(text, { query: text }, { ...validation, message: /^(?!.*Did you mean)/s }),
  ),
  ...MALFORMED_BODIES.map(({ title, body }) => postGraphQL(`a body that is ${title}`.slice(0, 80), body, invalid)),
  ...invalidRequests.map(({ title, body }) => postGraphQL(`a request with ${title}`, body, invalid)),
  ...invalidVariables.map(({ title, query, variables }) =>
    postGraphQL(title, { query, variables }, { ...invalid, message: /^(?!.*Did you mean)/s }),
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
  ].map((parameter) => requestCase(`?query=…&${parameter}`, get(`query=${query}&${parameter}`), invalid)),
  ...[`${'['.repeat(10_000)}${']'.repeat(10_000)}`, `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`].map((deep) =>
    postGraphQL(
      `variables nested deeply as ${deep.slice(0, 10)}…`,
      `{"query":"query ($id: ID!) { pet(id: $id) { id } }","variables":{"id":${deep}}}`,
      invalid,
    ),
  ),
  postGraphQL(
    'a subscription without an Accept that names a stream',
    { query: 'subscription { petCreated { cursor } }' },
    { status: 406, code: 'NOT_ACCEPTABLE' },
  ),
  requestCase('GET without a query', { path: '/graphql' }, invalid),
  ...unsupportedBodies.map(({ title, type, body }) =>
    requestCase(title, { method: 'POST', path: '/graphql', headers: [['Content-Type', type]], body }, unsupported),
  ),
  requestCase('no Content-Type', { method: 'POST', path: '/graphql', body: JSON.stringify({ query }) }, unsupported),
  ...encodings.map((encoding) =>
    requestCase(
      `Content-Encoding: ${encoding}`,
      { method: 'POST', path: '/graphql', headers: [json, ['Content-Encoding', encoding]], body: '{}' },
      unsupported,
    ),
  ),
  ...[false, true].map((chunked) =>
    requestCase(
      `over 64 KiB, ${chunked ? 'in chunks' : 'with Content-Length'}`,
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

const createPet = 'mutation ($input: NewPet!, $key: String) { createPet(input: $input, idempotencyKey: $key) { id } }'

/** Valid operations with invalid arguments: the response is 200, and the error of the only field has this code. */
export const invalidArguments: { query: string; variables?: object; code: string }[] = [
  ...['first: 0', 'first: 101', 'last: -1', 'first: 1, last: 1', 'after: ""', 'before: "x"', 'after: "c29sZDox"'].map(
    (args) => ({ query: `{ pets(${args}) { totalCount } }`, code: 'INVALID_ARGUMENT' }),
  ),
  ...['"abc"', '"1.0"', '"1e3"', '"+1"', '"01"', '"0x1"', '"9223372036854775808"', '"٣"', `"${'9'.repeat(400)}"`].map(
    (id) => ({ query: `{ pet(id: ${id}) { id } }`, code: 'NOT_FOUND' }),
  ),
  ...[
    ...INVALID_NAMES.map(({ name }) => ({ input: { name, categoryId: 1 } })),
    ...['1.5', ...OUT_OF_RANGE_CATEGORY_IDS].map((categoryId) => ({ input: { name: 'x', categoryId } })),
    { input: { name: 'x', categoryId: 1 }, key: '' },
  ].map((variables) => ({ query: createPet, variables, code: 'INVALID_ARGUMENT' })),
  {
    query: 'mutation { createPet(input: { name: "x", categoryId: 9223372036854775808 }) { id } }',
    code: 'INVALID_ARGUMENT',
  },
]
