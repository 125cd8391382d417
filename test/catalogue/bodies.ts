import { INVALID_PETS, MALFORMED_BODIES, VALID_PET } from '../support/cases/new-pet.ts'
import { type Case, type Expected, json, postGraphQL, postPet, type Request, requestCase } from './case.ts'

const invalid = { status: 400, code: 'INVALID_ARGUMENT' }
const unsupported = { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' }
const tooLarge = { status: 413, code: 'PAYLOAD_TOO_LARGE' }
const encodings = ['gzip', 'deflate', 'br', 'zstd', 'compress', 'x', 'identity, gzip', 'gzip, gzip']
const mediaTypes = [
  ...'text/plain text/json application/jsonp application/xml application/x-www-form-urlencoded'.split(' '),
  ...'application/merge-patch+json application/graphql */* json application/json/x'.split(' '),
  ...['', 'multipart/form-data; boundary=x', 'application/json; charset=utf-16'],
  ...['application/json; charset=iso-8859-1', 'application/json; charset='],
]

const CREATE_PET = 'mutation ($input: NewPet!) { createPet(input: $input) { id } }'

/** What both APIs reject in the same way. */
const apis = [
  { path: '/v1/pets', valid: VALID_PET, headers: { 'accept-post': 'application/json' } },
  { path: '/graphql', valid: '{"query":"{__typename}"}', headers: {} },
].flatMap(({ path, valid, headers }): Case[] => {
  const post = (title: string, expected: Expected, sent: Request) =>
    requestCase(`${path} ${title}`, { method: 'POST', path, headers: [json], body: valid, ...sent }, expected)
  const wrongType = { ...unsupported, headers }
  const wrongCoding = { ...unsupported, headers: { ...headers, 'accept-encoding': 'identity' } } // RFC 9110 §12.5.3
  return [
    ...mediaTypes.map((type) => post(`with Content-Type: ${type}`, wrongType, { headers: [['Content-Type', type]] })),
    post('without a Content-Type', wrongType, { headers: [] }),
    ...encodings.map((encoding) =>
      post(`with Content-Encoding: ${encoding}`, wrongCoding, { headers: [json, ['Content-Encoding', encoding]] }),
    ),
    ...[false, true].flatMap((chunked) =>
      [65_537, 1_000_000].map((size) => {
        const title = `with ${size} bytes, ${chunked ? 'in chunks' : 'with Content-Length'}`
        return post(title, tooLarge, { body: valid.padEnd(size), chunked })
      }),
    ),
    ...MALFORMED_BODIES.map(({ title, body, isJson }) => {
      const httpStatus = path === '/graphql' && isJson ? 422 : 400
      return post(`with a body that is ${title}`, { ...invalid, httpStatus }, { body })
    }),
  ]
})

const digits = (text: string) => `{"name":"x","categoryId":[${text}]}`

/** Numbers on which a parser may spend quadratic time, which `npm run chaos` measures. */
export const longNumbers: Case[] = [
  postPet('a fraction of zeros that is none', digits(`0.${'0'.repeat(65_000)}1`), invalid),
  postPet('a fraction of zeros', digits(`1.${'0'.repeat(65_000)}`), invalid),
  postPet('65,000 digits', digits('1'.repeat(65_000)), invalid),
  postPet('numbers just too long', digits(Array(3_600).fill('12345678901234567').join()), invalid),
]

/** Requests to createPet of both APIs that are rejected without a query to the database. */
export const bodyCases: Case[] = [
  ...apis,
  ...longNumbers,
  ...INVALID_PETS.map(({ title, body, message }) => postPet(title, body, { ...invalid, message })),
  ...['', 'a b', 'cl\xe9', 'x'.repeat(256)].map((key) =>
    requestCase(
      `the Idempotency-Key "${key}"`,
      { method: 'POST', headers: [json, ['Idempotency-Key', key]], body: VALID_PET },
      { ...invalid, message: /^Idempotency-Key: / },
    ),
  ),
  ...INVALID_PETS.filter(({ onlyREST }) => !onlyREST).map(({ title, body, message }) =>
    postGraphQL(title, `{"query":${JSON.stringify(CREATE_PET)},"variables":{"input":${body}}}`, {
      ...invalid,
      httpStatus: 422,
      message: new RegExp(`${message.source}|^Variable "\\$input" got invalid value`), // of GraphQL.js for a type
      ofField: true,
    }),
  ),
]
