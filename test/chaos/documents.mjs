// Requests of one point whose work their price does not show, and a process that sends them:
// node documents.mjs                               prints the families
// node documents.mjs PORT KEY CONNECTIONS FAMILY   sends one after another on each connection, until it is killed.
import { Agent, request } from 'node:http'

const BODY_BYTES = 65_000

const numbers = (text) => () => `{"query":"{__typename}","x":[${text.repeat(BODY_BYTES / text.length)}1]}`
const document = (toQuery) => (n) => JSON.stringify({ query: toQuery(n) })
const list = (length, toText) => Array.from({ length }, (_, n) => toText(n)).join(' ')

/** The body of request number n, by family. Each document is another one, so that no cache has it. */
const FAMILIES = {
  'numbers with a fraction': numbers('1.0,'),
  'numbers with an exponent': numbers('1e18,'),
  'numbers of 20 digits': numbers('12345678901234567890,'),
  'unused variables': document((n) => `query Q${n}(${list(50, (i) => `$v${i}: Int`)}) { __typename }`),
  'one field many times': document((n) => `query Q${n} { ${'pets { nodes { id name } } '.repeat(80)} none }`),
  fragments: document(
    (n) =>
      `query Q${n} { ${list(60, (i) => `...F${i}`)} } ${list(60, (i) => `fragment F${i} on Query { pet(id: 1) { id none } }`)}`,
  ),
  introspection: (n) =>
    JSON.stringify({
      query: `{ __schema { ${list(29, (i) => `a${i}: types { fields { description } }`)} } }`,
      variables: { n },
    }),
  'unknown fields': document((n) => `query Q${n} { ${list(300, (i) => `x${i}`)} }`),
  'unknown arguments': document((n) => `query Q${n} { pets(${list(250, (i) => `x${i}: 1`)}) { nodes { id } } }`),
}

function sendAll(port, key, connections, toBody) {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  let sent = 0
  function send() {
    const body = toBody(sent++)
    const headers = {
      Authorization: `Bearer ${key}`,
      'Content-Type': 'application/json',
      'Content-Length': body.length,
    }
    const req = request({ agent, host: '127.0.0.1', port, path: '/graphql', method: 'POST', headers }, (res) =>
      res.resume().on('end', send),
    )
    req.on('error', () => setTimeout(send, 50)).end(body)
  }
  for (let n = 0; n < connections; n++) send()
}

const [port, key, connections, family] = process.argv.slice(2)
if (port === undefined) console.log(JSON.stringify(Object.keys(FAMILIES)))
else sendAll(port, key, Number(connections), FAMILIES[family])
