import type { Case } from './case.ts'

const close = { connection: 'close' }
const invalid = { status: 400, code: 'INVALID_ARGUMENT', headers: close }
const tooLarge = { status: 431, code: 'HEADERS_TOO_LARGE', headers: close }
/** To getPet, since it is deprecated in each of its responses. */
const get = (lines: string, target = '/v1/pets/1') => `GET ${target} HTTP/1.1\r\n${lines}\r\n`
const post = (lines: string, body = '') => `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${lines}\r\n${body}`

const hosts = ['a b', 'a/b', 'a@b', 'a?b', 'a#b', '', 'a:b', 'a:123456', '[', '::1', 'a,b', '<x>', 'x\\y', '%00', 'ä']
const targets = [
  ...['http://x/v1/pets', 'http://[::1/', 'https://x', '*', 'x', 'v1/pets', '?limit=1', 'x:443'],
  ...['/v1/pets HTTP/1.1 x', '/\u00e4', '//a@[#'],
]

const malformedRequests: Record<string, string> = {
  'no Host': get(''),
  'two Hosts': get('Host: a\r\nHost: b\r\n'),
  ...Object.fromEntries(hosts.map((host) => [`the Host ${JSON.stringify(host)}`, get(`Host: ${host}\r\n`)])),
  ...Object.fromEntries(targets.map((target) => [`the target ${JSON.stringify(target)}`, get('Host: x\r\n', target)])),
  'OPTIONS *': 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
  'HTTP/2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
  TLS: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
  'an unknown method': 'FOO /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n',
  'a NUL in a header': get('Host: x\r\nX: \0\r\n'),
  'a space before the colon': get('Host: x\r\nX : z\r\n'),
  'a folded header': get('Host: x\r\nX: y\r\n z\r\n'),
  'a bare LF': 'GET /v1/pets HTTP/1.1\nHost: x\n\n',
  'Content-Length and chunked': post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n'),
  'two different Content-Lengths': post('Content-Length: 3\r\nContent-Length: 4\r\n'),
  'a list in Content-Length': post('Content-Length: 3, 3\r\n'),
  'a Content-Length of 30 digits': post(`Content-Length: ${'9'.repeat(30)}\r\n`),
  'chunked in HTTP/1.0': 'POST /v1/pets HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  'a transfer coding after chunked': post('Transfer-Encoding: chunked, gzip\r\n'),
  'a chunk without a length': post(
    'Authorization: Bearer KEY\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
    'x\r\n',
  ),
}

const raw = (title: string, text: string, expected: Omit<Case, 'title' | 'bytes'>): Case => ({
  title,
  bytes: (key) => Buffer.from(text.replaceAll('KEY', key), 'latin1'),
  ...expected,
})

/** Malformed HTTP, which no HTTP library sends. The service responds with JSON and closes the connection. */
export const protocolCases: Case[] = [
  ...Object.entries(malformedRequests).map(([title, text]) => raw(title, text, invalid)),
  raw('17 KB of headers', get(`Host: x\r\nX: ${'x'.repeat(17_000)}\r\n`), tooLarge),
  raw('a target of 17 KB', get('Host: x\r\n', `/${'x'.repeat(17_000)}`), tooLarge),
  ...['foo', '100', '200-ok'].map((expectation) =>
    raw(`Expect: ${expectation}`, get(`Host: x\r\nExpect: ${expectation}\r\n`), {
      status: 417,
      code: 'EXPECTATION_FAILED',
      headers: close,
    }),
  ),
  raw('CONNECT', 'CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n', {
    status: 405,
    code: 'METHOD_NOT_ALLOWED',
    headers: { ...close, allow: 'GET, HEAD, POST, OPTIONS' },
  }),
]
