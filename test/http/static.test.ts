import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { describe, expect } from 'vitest'
import { sharedTest, test } from '../support/harness.ts'
import { parse, talk } from '../support/raw-http.ts'

const pages = ['/graphql', '/docs', '/openapi.json', '/docs/start.js', '/docs/swagger-ui-bundle.js']

const request = (method: string, path: string, headers = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nX-Request-Id: one\r\n${headers}\r\n`

describe('pages without a key', () => {
  sharedTest.for(pages)('%s: HEAD has the headers of GET and no body', async (path, { running }) => {
    const heads = await talk(
      running.port,
      request('HEAD', path).repeat(20) + request('HEAD', path, 'Connection: close\r\n'),
    )
    const { status, headers } = parse(await talk(running.port, request('GET', path, 'Connection: close\r\n')))
    expect(status).toBe(200)
    expect(Number(headers['content-length'])).toBeGreaterThan(0)
    const responses = heads.split('\r\n\r\n')
    expect(responses).toHaveLength(22)
    expect(responses.pop()).toBe('')
    const comparable = ({ date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest }: typeof headers) =>
      rest
    for (const head of responses) expect(comparable(parse(`${head}\r\n\r\n`).headers)).toEqual(comparable(headers))
  })

  test('concurrent clients that read nothing share one copy of the 9 MB of GraphiQL', async ({
    running,
    onTestFinished,
  }) => {
    const clients = Array.from({ length: 40 }, () => connect(running.port, '127.0.0.1'))
    onTestFinished(() => clients.forEach((client) => client.destroy()))
    await Promise.all(clients.map((client) => once(client, 'connect')))
    const before = process.memoryUsage().arrayBuffers
    const lengths = await Promise.all(clients.map(readLength))
    const copyLength = Math.max(...lengths)
    expect(copyLength).toBeGreaterThan(5_000_000)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(3 * copyLength)
  })
})

/** Requests the GraphiQL page and reads no further than the first chunk. @returns the page's Content-Length */
async function readLength(client: Socket): Promise<number> {
  client.write(request('GET', '/graphql'))
  const [chunk] = (await once(client, 'data')) as [Buffer] // a socket without an encoding
  client.pause()
  return Number(/Content-Length: (\d+)/.exec(chunk.toString('latin1'))?.[1])
}
