import { INVALID_PETS, MALFORMED_BODIES, VALID_PET } from '../support/cases/new-pet.ts'
import { type Case, json, postPet, requestCase } from './case.ts'

const invalid = { status: 400, code: 'INVALID_ARGUMENT' }
const unsupported = { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', headers: { 'accept-post': 'application/json' } }
const tooLarge = { status: 413, code: 'PAYLOAD_TOO_LARGE' }
export const mediaTypes = [
  'text/plain',
  'text/json',
  'application/jsonp',
  'application/xml',
  'application/x-www-form-urlencoded',
]
mediaTypes.push(
  'application/merge-patch+json',
  'multipart/form-data; boundary=x',
  '*/*',
  'json',
  'application/json/x',
  '',
)
mediaTypes.push(
  'application/json; charset=utf-16',
  'application/json; charset=iso-8859-1',
  'application/json; charset=',
)
export const encodings = ['gzip', 'deflate', 'br', 'zstd', 'compress', 'x', 'identity, gzip', 'gzip, gzip']

/** Requests to createPet that are rejected without a query to the database. */
export const bodyCases: Case[] = [
  ...MALFORMED_BODIES.map(({ title, body }) => postPet(`a body that is ${title}`.slice(0, 80), body, invalid)),
  ...INVALID_PETS.map(({ title, body, message }) => postPet(title, body, { ...invalid, message })),
  ...mediaTypes.map((type) =>
    requestCase(
      `Content-Type: ${type}`,
      { method: 'POST', headers: [['Content-Type', type]], body: VALID_PET },
      unsupported,
    ),
  ),
  requestCase('no Content-Type', { method: 'POST', body: VALID_PET }, unsupported),
  ...encodings.map((encoding) =>
    requestCase(
      `Content-Encoding: ${encoding}`,
      { method: 'POST', headers: [json, ['Content-Encoding', encoding]], body: VALID_PET },
      unsupported,
    ),
  ),
  ...[false, true].flatMap((chunked) => [
    requestCase(
      `a body one byte over 64 KiB, ${chunked ? 'in chunks' : 'with Content-Length'}`,
      { method: 'POST', headers: [json], body: VALID_PET.padEnd(65_537), chunked },
      tooLarge,
    ),
    requestCase(
      `a body of 1 MB, ${chunked ? 'in chunks' : 'with Content-Length'}`,
      { method: 'POST', headers: [json], body: VALID_PET.padEnd(1_000_000), chunked },
      tooLarge,
    ),
  ]),
]
