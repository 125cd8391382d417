/** PostGraphile with its Amber preset: a schema generated from the tables. Without its GraphiQL and subscriptions. */
import { createServer } from 'node:http'
import { grafserv } from 'postgraphile/grafserv/node'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { databaseUrl, host, isAllowed, poolSize, port } from './peer.ts'

const pgl = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: databaseUrl, poolConfig: { max: poolSize } })],
  grafserv: { graphiql: false, websockets: false },
})
const server = createServer()
const gate = createServer((req, res) => {
  if (isAllowed(req.headers.authorization)) server.emit('request', req, res)
  else res.writeHead(401).end()
})
await pgl.createServ(grafserv).addTo(server)
gate.listen(port, host)
