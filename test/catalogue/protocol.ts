import type { Case } from './case.ts'

const invalid = { status: 400, code: 'INVALID_ARGUMENT', headers: { connection: 'close' } }
const get = (lines: string, target = '/v1/pets') => `GET ${target} HTTP/1.1\r\n${lines}\r\n`
const post = (lines: string, body = '') => `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${lines}\r\n${body}`

const hosts = ['a b', 'a/b', 'a@b', 'a?b', 'a#b', '', 'a:b', 'a:123456', '[', '::1', 'a,b', '<x>', 'x\\y', '%00', 'ä']
const targets = [
  'http://x/v1/pets',
  'http://[::1/',
  'https://x',
  '*',
  'x',
  'v1/pets',
  '?limit=1',
  'x:443',
  '/v1/pets HTTP/1.1 x',
  '/\u00e4',
]

const malformedRequests: { title: string; text: string }[] = [
  { title: 'no Host', text: get('') },
  { title: 'two Hosts', text: get('Host: a\r\nHost: b\r\n') },
  { title: 'two equal Hosts', text: get('Host: a\r\nHost: a\r\n') },
  ...hosts.map((host) => ({ title: `the Host ${JSON.stringify(host)}`, text: get(`Host: ${host}\r\n`) })),
  ...targets.map((target) => ({ title: `the target ${JSON.stringify(target)}`, text: get('Host: x\r\n', target) })),
  { title: 'an empty target', text: 'GET  HTTP/1.1\r\nHost: x\r\n\r\n' },
  { title: 'HTTP/2', text: 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n' },
  { title: 'HTTP/3.0', text: 'GET /v1/pets HTTP/3.0\r\nHost: x\r\n\r\n' },
  { title: 'TLS', text: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03' },
  { title: 'SSH', text: 'SSH-2.0-OpenSSH_9.2\r\n' },
  { title: 'text that is not HTTP', text: 'hello\r\n\r\n' },
  { title: 'an unknown method', text: 'FOO /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n' },
  { title: 'a method in lower case', text: 'get /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n' },
  { title: 'a NUL in a header', text: get('Host: x\r\nX: \0\r\n') },
  { title: 'a space in a header name', text: get('Host: x\r\nX Y: z\r\n') },
  { title: 'a space before the colon', text: get('Host: x\r\nX : z\r\n') },
  { title: 'a folded header', text: get('Host: x\r\nX: y\r\n z\r\n') },
  { title: 'a header line without a colon', text: get('Host: x\r\nXY\r\n') },
  { title: 'a header without a name', text: get('Host: x\r\n: y\r\n') },
  { title: 'a bare LF', text: 'GET /v1/pets HTTP/1.1\nHost: x\n\n' },
  { title: 'a bare CR in a header', text: get('Host: x\r\nX: a\rb\r\n') },
  { title: 'Content-Length and chunked', text: post('Content-Length: 3\r\nTransfer-Encoding: chunked\r\n') },
  { title: 'chunked and Content-Length', text: post('Transfer-Encoding: chunked\r\nContent-Length: 3\r\n') },
  { title: 'two different Content-Lengths', text: post('Content-Length: 3\r\nContent-Length: 4\r\n') },
  { title: 'two equal Content-Lengths', text: post('Content-Length: 3\r\nContent-Length: 3\r\n') },
  { title: 'a list in Content-Length', text: post('Content-Length: 3, 3\r\n') },
  { title: 'a negative Content-Length', text: post('Content-Length: -1\r\n') },
  { title: 'a Content-Length with a plus sign', text: post('Content-Length: +1\r\n') },
  { title: 'a hexadecimal Content-Length', text: post('Content-Length: 0x3\r\n') },
  { title: 'a Content-Length of 30 digits', text: post(`Content-Length: ${'9'.repeat(30)}\r\n`) },
  {
    title: 'chunked in HTTP/1.0',
    text: 'POST /v1/pets HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
  },
  { title: 'a transfer coding after chunked', text: post('Transfer-Encoding: chunked, gzip\r\n') },
  {
    title: 'a chunk without a length',
    text: post(
      'Authorization: Bearer KEY\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n',
      'x\r\n',
    ),
  },
]

const raw = (title: string, text: string, expected: Omit<Case, 'title' | 'bytes'>): Case => ({
  title,
  bytes: (key) => Buffer.from(text.replaceAll('KEY', key), 'latin1'),
  ...expected,
})

/** Malformed HTTP, which no HTTP library sends. The service responds with JSON and closes the connection. */
export const protocolCases: Case[] = [
  ...malformedRequests.map(({ title, text }) => raw(title, text, invalid)),
  raw('17 KB of headers', get(`Host: x\r\nX: ${'x'.repeat(17_000)}\r\n`), {
    status: 431,
    code: 'HEADERS_TOO_LARGE',
    headers: { connection: 'close' },
  }),
  raw('a target of 17 KB', get('Host: x\r\n', `/${'x'.repeat(17_000)}`), {
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
