import { type Case, json, post, requestCase } from './case.ts'

const invalid = { status: 400, code: 'INVALID_ARGUMENT' }
const unsupported = { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', headers: { 'accept-post': 'application/json' } }
const tooLarge = { status: 413, code: 'PAYLOAD_TOO_LARGE' }
const good = '{"name":"x","categoryId":1}'
const withId = (member: string) => `{"name":"x",${member}}`
const deep = (n: number, inner = '') => `${'['.repeat(n)}${inner}${']'.repeat(n)}`

/** No JSON object, on either face. */
export const noJson: [string, string | Buffer][] = [
  ['empty', ''],
  ['blank', ' \t\r\n'],
  ['a byte order mark alone', '\ufeff'],
  ['no JSON', 'name=x'],
  ['half an object', '{"name":"x",'],
  ['trailing garbage', `${good}x`],
  ['two documents', `${good}${good}`],
  ['a trailing comma', '{"name":"x","categoryId":1,}'],
  ['a comment', `/* a */${good}`],
  ['a line comment', `${good}// a`],
  ['single quotes', "{'name':'x','categoryId':1}"],
  ['names without quotes', '{name:"x",categoryId:1}'],
  ['NaN', withId('"categoryId":NaN')],
  ['Infinity', withId('"categoryId":-Infinity')],
  ['a plus', withId('"categoryId":+1')],
  ['a leading zero', withId('"categoryId":01')],
  ['hexadecimal', withId('"categoryId":0x10')],
  ['a raw newline in a string', '{"name":"a\nb","categoryId":1}'],
  ['a bad escape', '{"name":"\\x41","categoryId":1}'],
  ['UTF-16', Buffer.from(good, 'utf16le')],
  ['a lone continuation byte', Buffer.from('{"name":"\x80","categoryId":1}', 'latin1')],
  ['an overlong NUL', Buffer.from('{"name":"\xc0\x80","categoryId":1}', 'latin1')],
  ['a surrogate in UTF-8', Buffer.from('{"name":"\xed\xa0\x80","categoryId":1}', 'latin1')],
  ['a character cut off', Buffer.from('{"name":"\xf0\x9f\xa6', 'latin1')],
  ['30,000 levels deep', deep(30_000)],
  ['60,000 levels deep, unclosed', '['.repeat(60_000)],
  ['30,000 levels deep around a long number', deep(30_000, '12345678901234567890')],
  ['an object 8,000 levels deep', `${'{"a":'.repeat(8_000)}1${'}'.repeat(8_000)}`],
  ...['null', 'true', '0', '12345678901234567890', '"x"', '[]', `[${good}]`].map((text): [string, string] => [
    text,
    text,
  ]),
]

const wrongMembers: [string, string, RegExp][] = [
  ['no name', '{"categoryId":1}', /^name: /],
  ['no categoryId', '{"name":"x"}', /^categoryId: /],
  ['neither', '{}', /^name: .*categoryId: /],
  ['members in other case', '{"Name":"x","CategoryId":1}', /^name: .*categoryId: /],
  ...[
    'null',
    'true',
    '1',
    '1e400',
    '[]',
    '["x"]',
    '{}',
    '{"toString":1}',
    '""',
    '" "',
    '"\\u00a0\\u3000"',
    '"\\u0000"',
    '"a\\u0000b"',
  ].map((value): [string, string, RegExp] => [`name ${value}`, `{"name":${value},"categoryId":1}`, /^name: /]),
  ...['"\\ud800"', '"\\udc00\\ud800"', `"${'x'.repeat(256)}"`, `"${'🦜'.repeat(256)}"`].map(
    (value): [string, string, RegExp] => [`name ${value.slice(0, 20)}`, `{"name":${value},"categoryId":1}`, /^name: /],
  ),
  ...[
    'null',
    '"1"',
    '""',
    'true',
    '[1]',
    '{}',
    '1.5',
    '-0.1',
    '1e-1',
    '1e400',
    '1e19',
    '9223372036854775808',
    '-9223372036854775809',
  ].map((value): [string, string, RegExp] => [`categoryId ${value}`, withId(`"categoryId":${value}`), /^categoryId: /]),
  ['categoryId of 400 digits', withId(`"categoryId":${'9'.repeat(400)}`), /^categoryId: /],
  ...[
    'null',
    '""',
    '"SOLD"',
    '"Sold"',
    '" sold"',
    '"sold "',
    '"sold\\u0000"',
    '"gone"',
    '0',
    'true',
    '["sold"]',
    '{}',
  ].map((value): [string, string, RegExp] => [
    `status ${value}`,
    withId(`"categoryId":1,"status":${value}`),
    /^status: /,
  ]),
]

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

/** "Input" of the catalogue, bodies: as far as no database is needed for the answer. */
export const bodyCases: Case[] = [
  ...noJson.map(([title, body]) => post(`a body that is ${title}`.slice(0, 80), body, invalid)),
  ...wrongMembers.map(([title, body, message]) => post(title, body, { ...invalid, message })),
  ...mediaTypes.map((type) =>
    requestCase(
      `Content-Type: ${type}`,
      { method: 'POST', headers: [['Content-Type', type]], body: good },
      unsupported,
    ),
  ),
  requestCase('no Content-Type', { method: 'POST', body: good }, unsupported),
  ...encodings.map((encoding) =>
    requestCase(
      `Content-Encoding: ${encoding}`,
      { method: 'POST', headers: [json, ['Content-Encoding', encoding]], body: good },
      unsupported,
    ),
  ),
  ...[false, true].flatMap((chunked) => [
    requestCase(
      `a body one byte over 64 KiB, ${chunked ? 'in chunks' : 'with its length'}`,
      { method: 'POST', headers: [json], body: good.padEnd(65_537), chunked },
      tooLarge,
    ),
    requestCase(
      `a body of 1 MB, ${chunked ? 'in chunks' : 'with its length'}`,
      { method: 'POST', headers: [json], body: good.padEnd(1_000_000), chunked },
      tooLarge,
    ),
  ]),
]
