import { type Case, json, type Request, requestCase } from './case.ts'

const endpoints = [
  { api: 'REST', method: 'GET', path: '/v1/pets', body: undefined },
  { api: 'GraphQL', method: 'POST', path: '/graphql', body: '{"query":"{__typename}"}' },
]

const bearer = (...keys: string[]) => keys.map((key): [string, string] => ['Authorization', `Bearer ${key}`])

/** Requests without a bearer token, which the service answers without error="invalid_token" (RFC 6750 §3.1). */
const withoutToken: Record<string, [name: string, value: string][]> = {
  'no header': [],
  'an empty header': [['Authorization', '']],
  'a scheme only': [['Authorization', 'Bearer']],
  'a key without a scheme': [['Authorization', 'KEY']],
  Basic: [['Authorization', 'Basic KEY']],
  'no space after the scheme': [['Authorization', 'BearerKEY']],
  'a tab after the scheme': [['Authorization', 'Bearer\tKEY']],
  'two tokens': bearer('KEY KEY'),
  'two headers, both valid': bearer('KEY', 'KEY'),
  'a cookie': [['Cookie', 'Authorization=Bearer KEY; access_token=KEY; token=KEY']],
}

const invalidTokens: Record<string, string> = {
  'a token of 8 KB': 'x'.repeat(8_192),
  '8 KB with the prefix of a key': `pets_${'0'.repeat(8_192)}`,
  'bytes that are not ASCII': 'cl\xe9',
  'a truncated key': `pets_${'0'.repeat(56)}`,
  'the key and one more character': 'KEY0',
}

const misplacedKeys: { title: string; path: string; body?: string }[] = [
  { title: 'the query string', path: '/v1/pets?access_token=KEY&api_key=KEY&key=KEY' },
  { title: 'the path', path: '/v1/pets/KEY' },
  { title: 'the body', path: '/v1/pets', body: '{"name":"x","categoryId":1,"access_token":"KEY"}' },
  { title: 'the query string of GraphQL', path: '/graphql?query={__typename}&access_token=KEY' },
]

/** A request with these credentials. */
function rejected(title: string, request: Request, headers: [string, string][] = [], challenge = ''): Case {
  const expected = { 'www-authenticate': `Bearer realm="petstore"${challenge}` }
  const sent = { ...request, anonymous: true, headers: [json, ...headers] }
  return requestCase(title, sent, { status: 401, code: 'UNAUTHENTICATED', headers: expected })
}

/** Credentials that are rejected without a query to the database. */
export const keyCases: Case[] = [
  ...endpoints.flatMap(({ api, ...endpoint }) => [
    ...Object.entries(withoutToken).map(([title, headers]) => rejected(`${api}: ${title}`, endpoint, headers)),
    ...Object.entries(invalidTokens).map(([title, token]) =>
      rejected(`${api}: ${title}`, endpoint, bearer(token), ', error="invalid_token"'),
    ),
  ]),
  ...misplacedKeys.map(({ title, path, body }) =>
    rejected(`the key in ${title}`, { method: body ? 'POST' : 'GET', path, body }),
  ),
]
