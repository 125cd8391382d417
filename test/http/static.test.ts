import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect } from 'vitest'
import { assets, largestAsset } from '../support/assets.ts'
import { testWithSharedService as test } from '../support/harness.ts'
import { parseResponse, sendRaw } from '../support/raw-http.ts'

const pages = ['/', '/graphql', '/docs', '/openapi.json', '/schema.graphql']
/** Whatever a browser may ask for without a key. */
const paths = [...pages, ...assets]
const html = { Accept: 'text/html' }

const request = (method: string, path: string, headers = '') =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nX-Request-Id: one\r\n${headers}\r\n`

describe('pages without a key', () => {
  test.for(paths)('%s: HEAD has the headers of GET and no body', async (path, { service }) => {
    const close = 'Connection: close\r\n'
    const heads = await sendRaw(service.port, request('HEAD', path).repeat(4) + request('HEAD', path, close))
    const { status, headers } = parseResponse(await sendRaw(service.port, request('GET', path, close)))
    expect(status).toBe(200)
    expect(Number(headers['content-length'])).toBeGreaterThan(0)
    const responses = heads.split('\r\n\r\n')
    expect(responses).toHaveLength(6)
    expect(responses.pop()).toBe('')
    const comparable = ({ date: _date, connection: _connection, 'keep-alive': _keepAlive, ...rest }: typeof headers) =>
      rest
    for (const head of responses)
      expect(comparable(parseResponse(`${head}\r\n\r\n`).headers)).toEqual(comparable(headers))
  })

  test.for(paths.filter((path) => !/(png|ico)$/.test(path)))(
    '%s comes in the best content coding that the client accepts, and is the same in each',
    async (path, { service }) => {
      const get = async (accepted: string) => {
        const head = `Accept-Encoding: ${accepted}\r\nConnection: close\r\n`
        const received = await sendRaw(service.port, request('GET', path, head))
        const end = received.indexOf('\r\n\r\n') + 4
        return { ...parseResponse(received.slice(0, end)), bytes: Buffer.from(received.slice(end), 'latin1') }
      }
      const identity = await get('identity')
      const gzip = await get('gzip, deflate, br;q=0')
      const brotli = await get('gzip, deflate, br, zstd')
      expect([identity, gzip, brotli].map(({ headers }) => headers['content-encoding'])).toEqual([
        undefined,
        'gzip',
        'br',
      ])
      expect(gunzipSync(gzip.bytes).equals(identity.bytes)).toBe(true)
      expect(brotliDecompressSync(brotli.bytes).equals(identity.bytes)).toBe(true)
      const etags = [identity, gzip, brotli].map(({ headers }) => headers['etag'])
      expect(new Set(etags).size).toBe(3)
      for (const { headers } of [identity, gzip, brotli]) expect(headers['vary']).toContain('Accept-Encoding')
    },
  )

  test.for(paths)('%s: a client that has it gets 304 without a body', async (path, { service }) => {
    const first = await fetch(service.base + path, { headers: html })
    await first.arrayBuffer()
    const etag = first.headers.get('etag') ?? ''
    const again = await fetch(service.base + path, { headers: { ...html, 'If-None-Match': etag } })
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
  })

  test('pages are revalidated at each visit, assets never', async ({ service }) => {
    const kept = async (path: string) =>
      (await fetch(service.base + path, { headers: html })).headers.get('cache-control')
    for (const path of pages) expect(await kept(path), path).toBe('no-cache')
    for (const path of assets) expect(await kept(path), path).toBe('public, max-age=31536000, immutable')
  })

  test.for([
    ['/graphql', 2_500_000],
    ['/docs', 450_000],
  ] as const)(
    'the first visit to %s, whose assets are relative to itself, is below %d bytes, and the next one below 50 KB',
    async ([path, limit], { service }) => {
      const page = await (await fetch(service.base + path, { headers: html })).text()
      const references = [...page.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, reference]) => `/${reference}`)
      expect(references.length).toBeGreaterThan(2)
      expect(assets).toEqual(expect.arrayContaining(references))
      const next = await totalLength(service.port, path === '/docs' ? [path, '/openapi.json'] : [path])
      expect(next).toBeLessThan(50_000)
      expect(next + (await totalLength(service.port, references))).toBeLessThan(limit)
    },
  )

  test('clients that read nothing share one copy of the largest asset', async ({ service, onTestFinished }) => {
    const clients = Array.from({ length: 40 }, () => connect(service.port, '127.0.0.1'))
    onTestFinished(() => clients.forEach((client) => client.destroy()))
    await Promise.all(clients.map((client) => once(client, 'connect')))
    const before = process.memoryUsage().arrayBuffers
    const lengths = await Promise.all(clients.map((client) => readLength(client, largestAsset)))
    const copyLength = Math.max(...lengths)
    expect(copyLength).toBeGreaterThan(2_000_000)
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(3 * copyLength)
  })
})

/** @returns the sum of the Content-Lengths for a client that accepts compression */
async function totalLength(port: number, paths: string[]): Promise<number> {
  const head = 'Accept-Encoding: gzip, br\r\nConnection: close\r\n'
  const responses = await Promise.all(paths.map((path) => sendRaw(port, request('HEAD', path, head))))
  return responses.reduce((sum, response) => sum + Number(parseResponse(response).headers['content-length']), 0)
}

/** Requests a path and reads no further than the first chunk. @returns the Content-Length */
async function readLength(client: Socket, path: string): Promise<number> {
  client.write(request('GET', path))
  const [chunk] = (await once(client, 'data')) as [Buffer] // a socket without an encoding
  client.pause()
  return Number(/Content-Length: (\d+)/.exec(chunk.toString('latin1'))?.[1])
}
