import { createServer } from 'node:http'
import { expect } from 'vitest'
import { pathOf } from '../support/files.ts'
import { testWithService as test } from '../support/harness.ts'
import { launch, occupyPort } from '../support/processes.ts'
import { sentences } from './graphql-over-http-cases.ts'

const requests = sentences.flatMap(({ sentence, requests }) =>
  Object.entries(requests).map(([request, run]) => ({ title: `${sentence} ${request}`, run })),
)
const program = pathOf('test/conformance/graphql-over-http.mjs')

test('the service follows GraphQL over HTTP, edition September 2026', async ({ service }) => {
  const partial = '{ __typename pet(id: 1) { id } }'
  const args = [`${service.base}/graphql`, '--key', service.key, '--partial', partial]
  const { code, stdout, stderr } = await launch(program, args, {}).exited
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const failed = stdout.split('\n').filter((line) => /^ {2}(MUST|SHOULD|skip) /.test(line))
  expect(failed).toEqual([expect.stringContaining('GET with 200,000 characters: status 431 instead of 414')])
  expect(stdout).toContain(`\n${requests.length - 1} passed, 0 MUST and 1 SHOULD failed, 0 skipped\n`)
})

test('no sentence is followed both by a server that accepts everything and by one that rejects everything', async () => {
  const followed = async (status: number, type: string, body: string) => {
    const server = createServer({ maxHeaderSize: 500_000 }, (_req, res) => {
      res.writeHead(status, { 'Content-Type': type }).end(body)
    })
    const { port } = await occupyPort(server)
    const target = { url: `http://127.0.0.1:${port}/`, headers: { Authorization: 'Bearer x' }, partial: '{ x }' }
    const outcomes = await Promise.allSettled(requests.map(({ run }) => run(target)))
    server.close().closeAllConnections()
    return requests.filter((_, n) => outcomes[n]?.status === 'fulfilled').map(({ title }) => title)
  }
  const type = 'application/graphql-response+json; charset=utf-8'
  const accepting = await followed(200, type, '{"data":{"__typename":"Query"}}')
  const rejecting = new Set(await followed(500, 'text/html', ''))
  expect(accepting.length).toBeGreaterThan(5)
  expect(accepting.filter((title) => rejecting.has(title))).toEqual([])
})
