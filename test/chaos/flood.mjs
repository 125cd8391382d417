// A process, so that its work does not delay the clients that are measured: node flood.mjs PORT CONNECTIONS FIRST AGAIN
// Sends FIRST, and AGAIN as fast as it is taken, on each of the connections; connects again when the service closes one.
import { once } from 'node:events'
import { connect } from 'node:net'

const [port, connections, first, again] = process.argv.slice(2)
const bytes = Buffer.from(again.repeat(Math.ceil(65_536 / again.length)), 'latin1')

async function run() {
  for (;;) {
    const socket = connect({ port: Number(port), host: '127.0.0.1' }).resume()
    socket.on('error', () => {}) // closed by the service
    const closed = once(socket, 'close').catch(() => {})
    socket.write(first, 'latin1')
    while (!socket.destroyed) {
      if (!socket.write(bytes)) await Promise.race([once(socket, 'drain').catch(() => {}), closed])
    }
  }
}
for (let n = 0; n < Number(connections); n++) void run()
