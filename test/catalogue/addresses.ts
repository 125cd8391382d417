import { METHODS } from 'node:http'
import { type Case, requestCase } from './case.ts'

const invalid = { status: 400, code: 'INVALID_ARGUMENT' }
const notFound = { status: 404, code: 'NOT_FOUND' }

const queries = [
  'limit=0',
  'limit=-1',
  'limit=101',
  'limit=1000',
  'limit=99999999999999999999',
  `limit=${'9'.repeat(400)}`,
]
queries.push(
  'limit=',
  'limit',
  'limit=%20',
  'limit=5%20',
  'limit=+5',
  'limit=%2B5',
  'limit=1e1',
  'limit=0x10',
  'limit=1.0',
)
queries.push('limit=%D9%A5', 'limit=NaN', 'limit=null', 'limit=5&limit=5', 'limit=5&limit=6', 'limit=%00', 'limit=five')
queries.push(
  'status=',
  'status',
  'status=Sold',
  'status=SOLD',
  'status=sold%20',
  'status=%20sold',
  'status=gone',
  'status=null',
)
queries.push('status=sold&status=sold', 'status=sold&status=pending', 'status=%00', 'status=sold,pending', 'status=0')
queries.push(
  'cursor=',
  'cursor=x',
  'cursor=%00',
  'cursor=YWxsOg',
  'cursor=YWxsOjE&cursor=YWxsOjE',
  `cursor=${'x'.repeat(4_000)}`,
)

const ids = [
  'abc',
  '1.0',
  '1.',
  '1e3',
  '%2B1',
  '+1',
  '01',
  '-01',
  '-0',
  '0x1',
  '1_000',
  '1,000',
  '%201',
  '1%20',
  '%D9%A1',
  '%00',
  '1%00',
]
ids.push(
  'NaN',
  'null',
  'undefined',
  'true',
  '9223372036854775808',
  '-9223372036854775809',
  '9'.repeat(400),
  "1'--",
  '1;',
  '%2e%2e',
)

const unknownPaths = [
  '/',
  '/v1',
  '/v1/',
  '/v1//pets',
  '//v1/pets',
  '/v1/pets//1',
  '/v1/pets/1/',
  '/v1/pets/1/x',
  '/V1/pets',
]
unknownPaths.push(
  '/v1/Pets',
  '/v1/pet',
  '/v1/store/orders',
  '/v1/pets.json',
  '/v1/pets;a=b',
  '/v1/pets%2f1',
  '/v1/%70ets/',
  '/v2/pets',
)
unknownPaths.push(
  '/graphql/x',
  '/GraphQL',
  '/livez/',
  '/readyz/',
  '/docs/../../etc/passwd',
  '/docs/x',
  '/.env',
  '/favicon.ico',
)
unknownPaths.push('/v1/pets/../pets/', '/index.html', `/${'x'.repeat(8_000)}`)
const invalidEscapes = [
  '/v1/pets/%',
  '/v1/pets/%2',
  '/v1/pets/%zz',
  '/v1/pets/%ff',
  '/v1/pets/%c3%28',
  '/v1/pets/%ed%a0%80',
]

const collection = 'GET, HEAD, POST, OPTIONS'
const item = 'GET, HEAD, OPTIONS'
/** Every method that Node parses, except those that some path allows and CONNECT, which protocol.ts covers. */
const methods = METHODS.filter((method) => !['GET', 'HEAD', 'POST', 'OPTIONS', 'CONNECT'].includes(method))
const someMethods = ['PUT', 'DELETE', 'TRACE']
const disallowedMethods: { path: string; allow: string; methods: string[] }[] = [
  { path: '/v1/pets', allow: collection, methods },
  { path: '/v1/pets/1', allow: item, methods: someMethods },
  { path: '/v1/pets/abc', allow: item, methods: someMethods },
  { path: '/graphql', allow: collection, methods },
  { path: '/livez', allow: item, methods: someMethods },
  { path: '/openapi.json', allow: item, methods: someMethods },
]

/** Paths, query parameters and methods that are rejected without a query to the database. */
export const addressCases: Case[] = [
  ...queries.map((query) => requestCase(`?${query}`.slice(0, 60), { path: `/v1/pets?${query}` }, invalid)),
  ...ids.map((id) => requestCase(`/v1/pets/${id}`.slice(0, 60), { path: `/v1/pets/${id}` }, notFound)),
  ...unknownPaths.map((path) => requestCase(path.slice(0, 60), { path }, notFound)),
  ...invalidEscapes.map((path) => requestCase(path, { path }, invalid)),
  ...disallowedMethods.flatMap(({ path, allow, methods }) =>
    methods.map((method) =>
      requestCase(
        `${method} ${path}`,
        { method, path },
        { status: 405, code: 'METHOD_NOT_ALLOWED', headers: { allow } },
      ),
    ),
  ),
  requestCase(
    'POST /v1/pets/1',
    { method: 'POST', path: '/v1/pets/1' },
    { status: 405, code: 'METHOD_NOT_ALLOWED', headers: { allow: item } },
  ),
]
