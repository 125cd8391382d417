import { once } from 'node:events'
import { rename } from 'node:fs/promises'
import { createServer } from 'node:http'
import { pathToFileURL } from 'node:url'
import express from 'express'
import { expect, onTestFinished } from 'vitest'
import { staticPage } from '../../src/http/static.ts'
import { assets, largestAsset } from '../support/assets.ts'
import { temporaryFile } from '../support/files.ts'
import { testWithSharedService as test } from '../support/harness.ts'
import { occupyPort } from '../support/processes.ts'
import { openSocket, parseResponse, sendRaw } from '../support/raw-http.ts'

/** Whatever a browser may ask for without a key. */
const paths = ['/', '/graphql', '/docs', '/openapi.json', '/schema.graphql', ...assets]
const texts = paths.filter((path) => !/(png|ico)$/.test(path))
const html = { Accept: 'text/html' }

const request = (method: string, path: string) =>
  `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/html\r\nX-Request-Id: one\r\nConnection: close\r\n\r\n`

test.for(paths)('%s: HEAD has the headers of GET and no body', async (path, { service }) => {
  const send = async (method: string) => parseResponse(await sendRaw(service.port, request(method, path)))
  const [head, get] = [await send('HEAD'), await send('GET')]
  expect([head.body, get.status]).toEqual([undefined, 200])
  expect(Number(head.headers['content-length'])).toBeGreaterThan(0)
  expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' })
})

test.for(texts)('%s comes in the best content coding that the client accepts', async (path, { service }) => {
  const codings = ['identity', 'gzip, deflate, br;q=0', 'gzip, deflate, br, zstd'].map(async (accepted) => {
    const response = await fetch(service.base + path, { headers: { ...html, 'Accept-Encoding': accepted } })
    const header = (name: string) => response.headers.get(name)
    expect(header('vary')).toContain('Accept-Encoding')
    const content = Buffer.from(await response.arrayBuffer()).toString('latin1') // decoded
    return { coding: header('content-encoding'), etag: header('etag'), content }
  })
  const responses = await Promise.all(codings)
  expect(responses.map(({ coding }) => coding)).toEqual([null, 'gzip', 'br'])
  expect(new Set(responses.map(({ content }) => content)).size).toBe(1)
  expect(new Set(responses.map(({ etag }) => etag)).size).toBe(3)
})

test.for(paths)(
  '%s is 304 for a client that has it; pages are revalidated, assets never',
  async (path, { service }) => {
    const first = await fetch(service.base + path, { headers: html })
    await first.arrayBuffer()
    const kept = assets.includes(path) ? 'public, max-age=31536000, immutable' : 'no-cache'
    expect(first.headers.get('cache-control')).toBe(kept)
    const etag = first.headers.get('etag') ?? ''
    const again = await fetch(service.base + path, { headers: { ...html, 'If-None-Match': etag } })
    expect([again.status, await again.text(), again.headers.get('etag')]).toEqual([304, '', etag])
  },
)

test('clients that read nothing share one copy of the largest asset', async ({ service }) => {
  const { headers } = parseResponse(await sendRaw(service.port, request('HEAD', largestAsset)))
  const copyLength = Number(headers['content-length'])
  expect(copyLength).toBeGreaterThan(2_000_000)
  const before = process.memoryUsage().arrayBuffers
  for (let n = 0; n < 40; n++) await once(openSocket(service.port, request('GET', largestAsset)), 'readable')
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(3 * copyLength)
})

test('a page that could not be read is read again for the next request', async () => {
  const file = temporaryFile('page')
  const page = staticPage(pathToFileURL(`${file}.html`).href, '')
  const { server, port } = await occupyPort(createServer(express().get('/', page)))
  onTestFinished(() => void server.close())
  const get = () => fetch(`http://127.0.0.1:${port}/`, { headers: { 'Accept-Encoding': 'identity' } })
  expect((await get()).status).toBe(500)
  await rename(file, `${file}.html`)
  const response = await get()
  expect([response.status, await response.text()]).toEqual([200, 'page'])
})
