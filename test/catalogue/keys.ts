import { type Case, requestCase } from './case.ts'

const query = '{"query":"{__typename}"}'
const places: [string, { method: string; path: string; body?: string }][] = [
  ['REST', { method: 'GET', path: '/v1/pets' }],
  ['GraphQL', { method: 'POST', path: '/graphql', body: query }],
]
const contentType: [string, string] = ['Content-Type', 'application/json']

const noKey: [string, [string, string][]][] = [
  ['no header', []],
  ['an empty header', [['Authorization', '']]],
  ['a scheme alone', [['Authorization', 'Bearer']]],
  ['a scheme and a blank', [['Authorization', 'Bearer ']]],
  ['a key alone', [['Authorization', 'KEY']]],
  ['Basic', [['Authorization', 'Basic KEY']]],
  ['Digest', [['Authorization', 'Digest username="KEY"']]],
  ['no blank behind the scheme', [['Authorization', 'BearerKEY']]],
  ['a tab behind the scheme', [['Authorization', 'Bearer\tKEY']]],
  ['two tokens', [['Authorization', 'Bearer KEY KEY']]],
  ['two tokens with a comma', [['Authorization', 'Bearer KEY, Bearer KEY']]],
  ['two headers, both good', ['KEY', 'KEY'].map((key) => ['Authorization', `Bearer ${key}`])],
  ['two headers, the first good', ['KEY', 'x'].map((key) => ['Authorization', `Bearer ${key}`])],
  ['two headers, the second good', ['x', 'KEY'].map((key) => ['Authorization', `Bearer ${key}`])],
  ['a cookie', [['Cookie', 'Authorization=Bearer KEY; access_token=KEY; token=KEY']]],
  [
    'another header',
    [
      ['X-API-Key', 'KEY'],
      ['Proxy-Authorization', 'Bearer KEY'],
    ],
  ],
  ['an empty token of bytes that are no text', [['Authorization', 'Bearer \x80\xff \xfe']]],
]

const noValidKey: [string, string][] = [
  ['8 KB of token', `Bearer ${'x'.repeat(8_192)}`],
  ['8 KB in the shape of a key', `Bearer pets_${'0'.repeat(8_192)}`],
  ['bytes that are no ASCII', 'Bearer cl\xe9'],
  ['bytes that are no UTF-8', 'Bearer \xff\xfe'],
  ['SQL', "Bearer 'OR'1'='1"],
  ['the shape of a key, too short', `Bearer pets_${'0'.repeat(56)}`],
  ['the key extended', 'Bearer KEY0'],
  ['the key in quotes', 'Bearer "KEY"'],
  ['the word undefined', 'Bearer undefined'],
]

const anonymous = { 'www-authenticate': 'Bearer realm="petstore"' }
const invalid = { 'www-authenticate': 'Bearer realm="petstore", error="invalid_token"' }
const elsewhere: [string, string, string | undefined][] = [
  ['the query', '/v1/pets?access_token=KEY&api_key=KEY&key=KEY', undefined],
  ['the path', '/v1/pets/KEY', undefined],
  ['the body', '/v1/pets', '{"name":"x","categoryId":1,"access_token":"KEY"}'],
  ['the query of GraphQL', '/graphql?query={__typename}&access_token=KEY', undefined],
]

/** "Keys" of the catalogue, as far as no database is needed for the answer. */
export const keyCases: Case[] = [
  ...places.flatMap(([face, { method, path, body }]) => [
    ...noKey.map(([title, headers]) =>
      requestCase(
        `${face}: ${title}`,
        { method, path, ...(body && { body }), anonymous: true, headers: [contentType, ...headers] },
        { status: 401, code: 'UNAUTHENTICATED', headers: anonymous },
      ),
    ),
    ...noValidKey.map(([title, authorization]) =>
      requestCase(
        `${face}: ${title}`,
        {
          method,
          path,
          ...(body && { body }),
          anonymous: true,
          headers: [contentType, ['Authorization', authorization]],
        },
        { status: 401, code: 'UNAUTHENTICATED', headers: invalid },
      ),
    ),
  ]),
  ...elsewhere.map(([title, path, body]) =>
    requestCase(
      `the key in ${title}`,
      { method: body ? 'POST' : 'GET', path, ...(body && { body }), anonymous: true, headers: [contentType] },
      { status: 401, code: 'UNAUTHENTICATED', headers: anonymous },
    ),
  ),
]
