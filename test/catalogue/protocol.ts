import type { Case } from './case.ts'

const invalid = { status: 400, code: 'INVALID_ARGUMENT', headers: { connection: 'close' } }
const get = (lines: string, target = '/v1/pets') => `GET ${target} HTTP/1.1\r\n${lines}\r\n`
const post = (lines: string, body = '') => `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${lines}\r\n${body}`

const hosts = ['a b', 'a/b', 'a@b', 'a?b', 'a#b', '', 'a:b', 'a:123456', '[', '::1', 'a,b', '<x>', 'x\\y', '%00', 'ä']
const targets = [
  'http://x/v1/pets',
  'https://x',
  '*',
  'x',
  'v1/pets',
  '?limit=1',
  'x:443',
  '/v1/pets HTTP/1.1 x',
  '/\u00e4',
]

const broken: [string, string][] = [
  ['no Host', get('')],
  ['two Hosts', get('Host: a\r\nHost: b\r\n')],
  ['two Hosts that agree', get('Host: a\r\nHost: a\r\n')],
  ...hosts.map((host): [string, string] => [`the Host ${JSON.stringify(host)}`, get(`Host: ${host}\r\n`)]),
  ...targets.map((target): [string, string] => [`the target ${JSON.stringify(target)}`, get('Host: x\r\n', target)]),
  ['an empty target', 'GET  HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['HTTP/3.0', 'GET /v1/pets HTTP/3.0\r\nHost: x\r\n\r\n'],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['SSH', 'SSH-2.0-OpenSSH_9.2\r\n'],
  ['nothing that is HTTP', 'hello\r\n\r\n'],
  ['a method that does not exist', 'FOO /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a method in small letters', 'get /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a NUL in a header', get('Host: x\r\nX: \0\r\n')],
  ['a blank in the name of a header', get('Host: x\r\nX Y: z\r\n')],
  ['a blank before the colon', get('Host: x\r\nX : z\r\n')],
  ['a folded header', get('Host: x\r\nX: y\r\n z\r\n')],
  ['a header without a colon', get('Host: x\r\nXY\r\n')],
  ['a header without a name', get('Host: x\r\n: y\r\n')],
  ['a bare LF', 'GET /v1/pets HTTP/1.1\nHost: x\n\n'],
  ['a bare CR in a header', get('Host: x\r\nX: a\rb\r\n')],
  ['a length and chunks', post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n')],
  ['chunks and a length', post('Transfer-Encoding: chunked\r\nContent-Length: 3\r\n')],
  ['two lengths', post('Content-Length: 3\r\nContent-Length: 4\r\n')],
  ['two lengths that agree', post('Content-Length: 3\r\nContent-Length: 3\r\n')],
  ['a list of lengths', post('Content-Length: 3, 3\r\n')],
  ['a negative length', post('Content-Length: -1\r\n')],
  ['a length with a plus', post('Content-Length: +1\r\n')],
  ['a length in hexadecimal', post('Content-Length: 0x3\r\n')],
  ['a length of 30 digits', post(`Content-Length: ${'9'.repeat(30)}\r\n`)],
  ['chunks in HTTP/1.0', 'POST /v1/pets HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['an encoding behind chunked', post('Transfer-Encoding: chunked, gzip\r\n')],
  [
    'a chunk of no length',
    post('Authorization: Bearer KEY\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n', 'x\r\n'),
  ],
]

const raw = (title: string, text: string, expected: Omit<Case, 'title' | 'bytes'>): Case => ({
  title,
  bytes: (key) => Buffer.from(text.replaceAll('KEY', key), 'latin1'),
  ...expected,
})

/** "HTTP" of the catalogue: what no HTTP library sends. Answered as JSON, then closed. */
export const protocolCases: Case[] = [
  ...broken.map(([title, text]) => raw(title, text, invalid)),
  raw('17 KB of headers', get(`Host: x\r\nX: ${'x'.repeat(17_000)}\r\n`), {
    status: 431,
    code: 'HEADERS_TOO_LARGE',
    headers: { connection: 'close' },
  }),
  raw('17 KB of target', get('Host: x\r\n', `/${'x'.repeat(17_000)}`), {
    status: 431,
    code: 'HEADERS_TOO_LARGE',
    headers: { connection: 'close' },
  }),
  ...['foo', '100', '200-ok'].map((expectation) =>
    raw(`Expect: ${expectation}`, get(`Host: x\r\nExpect: ${expectation}\r\n`), {
      status: 417,
      code: 'EXPECTATION_FAILED',
      headers: { connection: 'close' },
    }),
  ),
  raw('CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n', {
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    headers: { connection: 'close', allow: 'GET, HEAD, POST, OPTIONS' },
  }),
]
