import { setTimeout as sleep } from 'node:timers/promises'
import { atMost, type Defer, exactly, type Measurement, quantile } from './assertions.ts'
import { type Client, createClient } from './client.ts'
import { issueKey } from './cluster.ts'
import { inDatabase } from '../support/postgres.ts'
import { atRate } from './connections.ts'
import { startInstance } from './instance.ts'

/** With so many animals, the counts of one connection once made half of the requests of others fail. */
const ROWS = 90_000
const INSERT = `INSERT INTO animal (name, category_id, status)
  SELECT 'pet', 1, (ARRAY['available', 'pending', 'sold']::pet_status[])[n % 3 + 1] FROM generate_series(1, ${ROWS}) AS n`

/** The most that a request may have. */
const COUNTS = 20
const MAX_SLOWDOWN = 10

/** Connections that send one request at a time, of 20 counts each, within the default rate limit. */
export async function attackWithCounts(
  defer: Defer,
  url: string,
  { rate, seconds }: { rate: number; seconds: number },
): Promise<Measurement[]> {
  await inDatabase(url, (sql) => sql.query(INSERT))
  const { port } = await startInstance(defer, { DATABASE_URL: url, RATE_LIMIT_POINTS: 60_000 })
  const client = createClient(port, await issueKey(url))
  defer(client.close)
  const measureOthers = () => measureLists(client, rate, seconds)
  await measureOthers() // warms up
  const normal = await measureOthers()
  const measurements: Measurement[] = []
  for (const connections of [1, 5, 50]) {
    const attacker = createClient(port, await issueKey(url), connections)
    const attack = new AbortController()
    const ended = Array.from({ length: connections }, (_, n) => sendCounts(attacker, `c${n}`, attack.signal))
    const others = await measureOthers()
    attack.abort()
    await Promise.all(ended)
    attacker.close()
    measurements.push(
      exactly(`${connections} connections that send ${COUNTS} counts at a time: others rejected`, others.rejected, 0),
      atMost('… others’ p50, against normal', others.p50Ms / normal.p50Ms, MAX_SLOWDOWN),
    )
  }
  return measurements
}

async function sendCounts(client: Client, name: string, signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    // Equal queries would share an execution.
    const fields = Array.from({ length: COUNTS }, (_, i) => `${name}_${n}_${i}: pets(first: 1) { totalCount }`)
    const { status } = await client.send('POST', '/graphql', JSON.stringify({ query: `{ ${fields.join(' ')} }` }))
    if (status === 429) await sleep(1_000)
  }
}

async function measureLists(client: Client, rate: number, seconds: number) {
  const times: number[] = []
  let rejected = 0
  await atRate(rate, seconds, async () => {
    const { status, ms } = await client.send('GET', '/v1/pets')
    if (status !== 200) rejected++
    times.push(ms)
  })
  return { p50Ms: quantile(times, 0.5), rejected }
}
