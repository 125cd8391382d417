import { type Case, postGraphQL, requestCase } from './case.ts'

const times = (n: number, part: (i: number) => string) => Array.from({ length: n }, (_, i) => part(i)).join(' ')
const parsing = { status: 400, code: 'GRAPHQL_PARSE_FAILED' }
const validation = { status: 400, httpStatus: 422, code: 'GRAPHQL_VALIDATION_FAILED' }
const invalid = { status: 400, httpStatus: 422, code: 'INVALID_ARGUMENT' }
const notAcceptable = { status: 406, code: 'NOT_ACCEPTABLE' }
const notPost = { status: 405, code: 'METHOD_NOT_ALLOWED', headers: { allow: 'POST' } }
const query = '{ __typename }'
const mutation = 'mutation { createPet(input: { name: "x", categoryId: 1 }) { id } }'

const doubling = (n: number, type: string, last: string) =>
  `${times(n, (i) => `fragment f${i} on ${type} { ...f${i + 1} ...f${i + 1} }`)} fragment f${n} on ${type} { ${last} }`
const cycles = times(
  32,
  (i) => `fragment f${i} on Query { a: pets { ...f${(i * 7 + 1) % 32} ...f${(i * 13 + 5) % 32} } ...f${(i + 1) % 32} }`,
)

/** Queries above a limit, which validation rejects, with the limit and the measured value in the message. */
export const floods: [title: string, query: string, message: RegExp][] = [
  ['fields', `{ ${times(180, () => 'pets { totalCount }')} }`, /expanded is 360; the limit is 300/],
  ['aliases', `{ ${times(101, (i) => `a${i}: __typename`)} }`, /aliases is 101; the limit is 100/],
  ['aliases of introspection', `{ ${times(31, (i) => `a${i}: __schema { types { name } }`)} }`, /introspection is 31/],
  [
    'aliases inside introspection',
    `{ __schema { ...f } } fragment f on __Schema { types { ${times(31, (i) => `a${i}: kind`)} } }`,
    /introspection is 31; the limit is 30/,
  ],
  ['depth', `${times(250, () => '{ a')}${'}'.repeat(250)}`, /Cannot query field/],
  ['variables', `query (${times(51, (i) => `$v${i}: Int`)}) { __typename }`, /variables is 51; the limit is 50/],
  ['lines', `{ __typename ${'\n'.repeat(500)} }`, /lines is 501; the limit is 500/],
  ['directives', `{ pets { totalCount ${times(100, () => '@skip(if: false)')} } }`, /can only be used once/],
  ['pages', `{ ${times(11, (i) => `a${i}: pets(first: 100) { nodes { id } }`)} }`, /cost is 1100; the limit is 1000/],
  [
    'doubling fragments',
    `{ pets { pageInfo { ...f0 } } } ${doubling(30, 'PageInfo', 'endCursor')}`,
    /expanded is \d+; the limit is 300/,
  ],
  ['a long alias', `{ ${'a'.repeat(256)}: __typename }`, /length of an alias is 256; the limit is 255/],
  ['a fragment cycle', '{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }', /Cannot spread fragment/],
  [
    'a cycle behind a fragment with its name',
    '{ ...a } fragment a on Query { pets { totalCount } } fragment a on Query { ...a }',
    /only one fragment named/,
  ],
  [
    'circular introspection',
    '{ __schema { types { fields { type { fields { type { fields { type { fields { name } } } } } } } } } }',
    /[Ii]ntrospection depth/,
  ],
  ['mistakes', `{ pets { ${times(100, (i) => `x${i}`)} } }`, /Cannot query field/],
]

/** Floods in an operation that is not the one to execute. */
const unselectedFloods: [query: string, message: RegExp][] = [
  [
    `query B { pets { pageInfo { ...f0 } } } ${doubling(25, 'PageInfo', 'endCursor')}`,
    /expanded is \d+; the limit is 300/,
  ],
  [`query B { ...f0 } ${cycles}`, /Cannot spread fragment/],
]

/** Queries above the limit of tokens, which the parser rejects. */
export const floodsOfTokens: [title: string, query: string][] = [
  ['tokens', `{ ${times(3_000, () => 'a')} }`],
  ['braces in an argument', `{ pet(id: ${'{a:'.repeat(660)}`],
  ['brackets of a type', `query ($a: ${'['.repeat(1_990)}`],
  ['braces', '{a'.repeat(5_000)],
]

const malformedDocuments = [
  ...['', ' ', '{', '}', '{}', 'query', 'hello', '{ pets', '{ a(b:) }', '#', '"""', '\u0000', 'null', '{ \u2028 }'],
]
const invalidDocuments = [
  ...['{ pets }', '{ pett { id } }', '{ petss { totalCount } }', '{ pets { nodess { id } } }', '{ pet { id } }'],
  ...['{ pets(stat: sold) { totalCount } }', '{ pets(status: sould) { totalCount } }', '{ pet(id: 1.5) { id } }'],
  ...['{ pets(first: "1") { totalCount } }', '{ __typename { a } }', '{ ...missing }', '{ __type { name } }'],
  ...['query ($a: Nope) { __typename }', 'mutation { createPett(input: {}) { id } }'],
  'mutation { createPet(input: { name: "x" }) { id } }',
]

/** Others are in test/conformance/graphql-over-http-cases.ts. */
const invalidRequests: Record<string, object> = {
  'a batch': [{ query }],
  'an empty batch': [],
  'a query that is an object': { query: { a: 1 } },
  'variables that are a number': { query, variables: 1 },
  'an unknown operationName': { query, operationName: 'Nope' },
}
const byId = 'query ($id: ID!) { pet(id: $id) { id } }'
const invalidVariables: [title: string, query: string, variables: object][] = [
  ['a missing variable', byId, {}],
  ['an id that is an object', byId, { id: {} }],
  ['a page size beyond int32', 'query ($n: Int) { pets(first: $n) { totalCount } }', { n: 2 ** 31 }],
]
const get = (parameters: string) => ({ path: `/graphql?${parameters.replaceAll(' ', '%20')}` })

/** Operations with an argument that is rejected when the operation is executed. */
const invalidArguments: [args: string, message: RegExp][] = [
  ['first: 0', /^first: must be an integer from 1 to 100$/],
  ['first: 101', /^first: /],
  ['last: -1', /^last: /],
  ['after: ""', /^after: /],
  ['before: "YWxsOjE="', /^before: /],
  ['categoryId: "1e3"', /^categoryId: must be an integer/],
  ['before: "c29sZDox"', /^before: .*the same filter/],
]

/** For a field without its subfields, graphql-js repeats the name that was sent. */
const noSuggestion = /^(?!.*Did you mean(?! "pets \{))/s
const parameters = 'variables={ variables=[] variables=1 extensions={ operationName=Nope query={pets{id}}'.split(' ')

/** GraphQL requests that are rejected without a query to the database. */
export const graphqlCases: Case[] = [
  ...floods.map(([title, query, message]) => postGraphQL(`a flood of ${title}`, { query }, { ...validation, message })),
  ...floodsOfTokens.map(([title, query]) =>
    postGraphQL(`a flood of ${title}`, { query }, { ...parsing, message: /800 tokens|<EOF>/ }),
  ),
  ...unselectedFloods.map(([flood, message]) =>
    postGraphQL(
      `an operation that is not selected: ${flood}`,
      { query: `query A { __typename } ${flood}`, operationName: 'A' },
      { ...validation, message },
    ),
  ),
  ...malformedDocuments.map((text) => postGraphQL(`the document ${JSON.stringify(text)}`, { query: text }, parsing)),
  ...invalidDocuments.map((text) => postGraphQL(text, { query: text }, { ...validation, message: noSuggestion })),
  ...Object.entries(invalidRequests).map(([title, body]) => postGraphQL(`a request with ${title}`, body, invalid)),
  ...invalidVariables.map(([title, query, variables]) =>
    postGraphQL(title, { query, variables }, { ...invalid, message: noSuggestion }),
  ),
  ...invalidArguments.map(([args, message]) =>
    postGraphQL(args, { query: `{ pets(${args}) { totalCount } }` }, { ...invalid, message, ofField: true }),
  ),
  postGraphQL(
    'an empty idempotencyKey',
    { query: 'mutation { createPet(input: { name: "x", categoryId: 1 }, idempotencyKey: "") { id } }' },
    { ...invalid, ofField: true },
  ),
  requestCase('a mutation by GET', get(`query=${mutation}`), notPost),
  requestCase(
    'a mutation among queries by GET',
    get(`query=query A{__typename} ${mutation.replace('mutation', 'mutation B')}&operationName=B`),
    notPost,
  ),
  ...parameters.map((parameter) => requestCase(`?query=…&${parameter}`, get(`query=${query}&${parameter}`), invalid)),
  postGraphQL(
    'variables nested deeply',
    `{"query":"${byId}","variables":{"id":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}}`,
    invalid,
  ),
  postGraphQL(
    'a subscription without an Accept that names a stream',
    { query: 'subscription { petCreated { cursor } }' },
    notAcceptable,
  ),
  requestCase('GET without a query', { path: '/graphql' }, invalid),
]
