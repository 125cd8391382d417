import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { expect, test } from 'vitest'
import { messageClasses } from '../../src/http/connection/messages.ts'

test('requests and responses have Express’s prototypes before Express sets them', async () => {
  const app = express()
  app.get('/', (req, res) => {
    res.json({ path: req.path, app: req.app === app && res.app === app })
  })
  const born: boolean[] = []
  const server = createServer(
    messageClasses(app, () => {}),
    (req, res) => {
      born.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response)
      app(req, res)
    },
  ).listen(0)
  const { port } = server.address() as AddressInfo // a TCP server that listens has one
  const response = await fetch(`http://127.0.0.1:${port}/`)
  expect(await response.json()).toEqual({ path: '/', app: true })
  expect(born).toEqual([true, true])
  server.close()
})
