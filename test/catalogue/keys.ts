import { type Case, requestCase } from './case.ts'

const query = '{"query":"{__typename}"}'
const endpoints = [
  { api: 'REST', method: 'GET', path: '/v1/pets' },
  { api: 'GraphQL', method: 'POST', path: '/graphql', body: query },
]
const contentType: [string, string] = ['Content-Type', 'application/json']

/** Requests without a bearer token, which the service answers without error="invalid_token" (RFC 6750 §3.1). */
const withoutToken: { title: string; headers: [name: string, value: string][] }[] = [
  { title: 'no header', headers: [] },
  { title: 'an empty header', headers: [['Authorization', '']] },
  { title: 'a scheme only', headers: [['Authorization', 'Bearer']] },
  { title: 'a scheme and a space', headers: [['Authorization', 'Bearer ']] },
  { title: 'a key without a scheme', headers: [['Authorization', 'KEY']] },
  { title: 'Basic', headers: [['Authorization', 'Basic KEY']] },
  { title: 'Digest', headers: [['Authorization', 'Digest username="KEY"']] },
  { title: 'no space after the scheme', headers: [['Authorization', 'BearerKEY']] },
  { title: 'a tab after the scheme', headers: [['Authorization', 'Bearer\tKEY']] },
  { title: 'two tokens', headers: [['Authorization', 'Bearer KEY KEY']] },
  { title: 'two tokens with a comma', headers: [['Authorization', 'Bearer KEY, Bearer KEY']] },
  { title: 'two headers, both valid', headers: ['KEY', 'KEY'].map((key) => ['Authorization', `Bearer ${key}`]) },
  { title: 'two headers, the first valid', headers: ['KEY', 'x'].map((key) => ['Authorization', `Bearer ${key}`]) },
  { title: 'two headers, the second valid', headers: ['x', 'KEY'].map((key) => ['Authorization', `Bearer ${key}`]) },
  { title: 'a cookie', headers: [['Cookie', 'Authorization=Bearer KEY; access_token=KEY; token=KEY']] },
  {
    title: 'other headers',
    headers: [
      ['X-API-Key', 'KEY'],
      ['Proxy-Authorization', 'Bearer KEY'],
    ],
  },
  { title: 'two tokens that are not UTF-8', headers: [['Authorization', 'Bearer \x80\xff \xfe']] },
]

const invalidTokens: { title: string; authorization: string }[] = [
  { title: 'a token of 8 KB', authorization: `Bearer ${'x'.repeat(8_192)}` },
  { title: '8 KB with the prefix of a key', authorization: `Bearer pets_${'0'.repeat(8_192)}` },
  { title: 'bytes that are not ASCII', authorization: 'Bearer cl\xe9' },
  { title: 'bytes that are not UTF-8', authorization: 'Bearer \xff\xfe' },
  { title: 'SQL', authorization: "Bearer 'OR'1'='1" },
  { title: 'a truncated key', authorization: `Bearer pets_${'0'.repeat(56)}` },
  { title: 'the key and one more character', authorization: 'Bearer KEY0' },
  { title: 'the key in quotes', authorization: 'Bearer "KEY"' },
  { title: 'the word undefined', authorization: 'Bearer undefined' },
]

const anonymous = { 'www-authenticate': 'Bearer realm="petstore"' }
const invalid = { 'www-authenticate': 'Bearer realm="petstore", error="invalid_token"' }
const misplacedKeys: { title: string; path: string; body?: string }[] = [
  { title: 'the query string', path: '/v1/pets?access_token=KEY&api_key=KEY&key=KEY' },
  { title: 'the path', path: '/v1/pets/KEY' },
  { title: 'the body', path: '/v1/pets', body: '{"name":"x","categoryId":1,"access_token":"KEY"}' },
  { title: 'the query string of GraphQL', path: '/graphql?query={__typename}&access_token=KEY' },
]

/** Credentials that are rejected without a query to the database. */
export const keyCases: Case[] = [
  ...endpoints.flatMap(({ api, method, path, body }) => [
    ...withoutToken.map(({ title, headers }) =>
      requestCase(
        `${api}: ${title}`,
        { method, path, ...(body && { body }), anonymous: true, headers: [contentType, ...headers] },
        { status: 401, code: 'UNAUTHENTICATED', headers: anonymous },
      ),
    ),
    ...invalidTokens.map(({ title, authorization }) =>
      requestCase(
        `${api}: ${title}`,
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
  ...misplacedKeys.map(({ title, path, body }) =>
    requestCase(
      `the key in ${title}`,
      { method: body ? 'POST' : 'GET', path, ...(body && { body }), anonymous: true, headers: [contentType] },
      { status: 401, code: 'UNAUTHENTICATED', headers: anonymous },
    ),
  ),
]
