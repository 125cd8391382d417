import { METHODS } from 'node:http'
import { type Case, postGraphQL, requestCase } from './case.ts'

const invalid = { status: 400, code: 'INVALID_ARGUMENT' }
const notFound = { status: 404, code: 'NOT_FOUND' }

const words = (text: string) => text.trim().split(/\s+/)

const queries = words(`
  limit=0 limit=-1 limit=101 limit=1000 limit=99999999999999999999 limit=${'9'.repeat(400)} limit= limit limit=%20
  limit=5%20 limit=+5 limit=%2B5 limit=1e1 limit=0x10 limit=1.0 limit=%D9%A5 limit=NaN limit=null limit=%00 limit=five
  limit=5&limit=5 limit=5&limit=6 limit=5&${'a&'.repeat(1_000)}limit=6 ${'a&'.repeat(1_000)}limit=0
  status= status status=Sold status=SOLD status=sold%20 status=%20sold status=gone status=null status=%00 status=0
  status=sold&status=sold status=sold&status=pending status=sold,pending
  cursor= cursor=x cursor=%00 cursor=c29sZDox cursor=YWxsOg cursor=YWxsOjE%3D cursor=YWxsOjE&cursor=YWxsOjE
  cursor=${'x'.repeat(4_000)}`)

const ids = words(`
  abc 1.0 1. 1e3 %2B1 +1 01 -01 -0 0x1 1_000 1,000 %201 1%20 %D9%A1 %00 1%00 NaN null undefined true 1'-- 1; %2e%2e
  9223372036854775808 -9223372036854775809 ${'9'.repeat(400)}`)

const unknownPaths = words(`
  / /v1 /v1/ /v1//pets //v1/pets /v1/pets//1 /v1/pets/1/x /V1/pets /v1/Pets /v1/pet /v1/store/orders
  /v1/pets.json /v1/pets;a=b /v1/pets%2f1 /v1/%70ets/ /v1/pets/../pets/ /v2/pets /graphql/x /GraphQL
  /docs/../../etc/passwd /docs/x /.env /favicon.ico /index.html /${'x'.repeat(8_000)}`)

const invalidEscapes = words('% %2 %zz %ff %c3%28 %ed%a0%80')

/** Every method that Node parses, except those that some path allows and CONNECT, which protocol.ts covers. */
const methods = METHODS.filter((method) => !['GET', 'HEAD', 'POST', 'OPTIONS', 'CONNECT'].includes(method))

/** Requests to a path with methods that it does not allow. */
const disallowed = (path: string, allow: string, methods: string[]) =>
  methods.map((method) => {
    const notAllowed = { status: 405, code: 'METHOD_NOT_ALLOWED', headers: { allow } }
    return requestCase(`${method} ${path}`, { method, path }, notAllowed)
  })

/** Paths, query parameters and methods that are rejected without a query to the database. */
export const addressCases: Case[] = [
  ...queries.map((query) => requestCase(`?${query}`, { path: `/v1/pets?${query}` }, invalid)),
  ...ids.map((id) => requestCase(`/v1/pets/${id}`, { path: `/v1/pets/${id}` }, notFound)),
  ...ids.map((id) => {
    const body = { query: 'query ($id: ID!) { pet(id: $id) { id } }', variables: { id: decodeURIComponent(id) } }
    return postGraphQL(`the id ${id}`, body, { ...notFound, ofField: true })
  }),
  ...unknownPaths.map((path) => requestCase(path, { path }, notFound)),
  ...invalidEscapes.map((id) => requestCase(`/v1/pets/${id}`, { path: `/v1/pets/${id}` }, invalid)),
  ...['/v1/pets', '/graphql'].flatMap((path) => disallowed(path, 'GET, HEAD, POST, OPTIONS', methods)),
  ...words('/v1/pets/1 /v1/pets/abc /livez /readyz /docs /openapi.json').flatMap((path) =>
    disallowed(path, 'GET, HEAD, OPTIONS', ['POST', 'PUT', 'DELETE', 'TRACE']),
  ),
]
