// Opens many streams and reads them, in a process of its own: node stream-readers.mjs PORT KEY COUNT. Its parent may
// send 'count', to get the number of events that were received, or 'close'.
import { connect } from 'node:net'

const [port, key, count] = process.argv.slice(2)
const EVENT = 'event: next'
/** How many connections are opened at the same time, so that none waits in the kernel's queue. */
const BATCH_SIZE = 50

const body = JSON.stringify({ query: 'subscription { petCreated { cursor node { id name categoryId status } } }' })
const request = [
  'POST /graphql HTTP/1.1',
  'Host: pets',
  `Authorization: Bearer ${key}`,
  'Content-Type: application/json',
  'Accept: text/event-stream',
  `Content-Length: ${body.length}`,
  '',
  body,
].join('\r\n')

let [events, rejected, closed] = [0, 0, 0]
const sockets = []

/** Resolves when the response has begun. */
function openStream() {
  return new Promise((resolve) => {
    const socket = connect({ port: Number(port), host: '127.0.0.1' }, () => socket.write(request))
    sockets.push(socket)
    let rest = ''
    socket.setEncoding('latin1')
    socket.once('data', (head) => {
      if (!head.startsWith('HTTP/1.1 200 ')) rejected++
      resolve()
    })
    socket.on('data', (text) => {
      const parts = (rest + text).split(EVENT)
      events += parts.length - 1
      rest = parts.at(-1).slice(1 - EVENT.length) // the beginning of one, perhaps
    })
    socket.on('error', resolve)
    socket.on('close', () => closed++)
  })
}

for (let left = Number(count); left > 0; left -= BATCH_SIZE)
  await Promise.all(Array.from({ length: Math.min(BATCH_SIZE, left) }, openStream))
process.on('message', (message) => {
  if (message === 'count') return process.send({ events, rejected, closed })
  sockets.forEach((socket) => socket.destroy())
  process.disconnect()
})
process.send({ events, rejected, closed })
