import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'

const STATUSES = [null, 'available', 'pending', 'sold']

const MAX_HOLD_MS = 300
const ROLLBACK_SHARE = 0.15

/** Adds animals in transactions of another program, which stay open for a while, until `stop` is called. */
export function writeBySql(
  url: string,
  writers: number,
): { stop(): Promise<{ committed: string[]; rolledBack: number }> } {
  const committed: string[] = []
  const stopping = new AbortController()
  let [rolledBack, count] = [0, 0]

  async function transact(client: pg.Client): Promise<void> {
    const ids: string[] = []
    await client.query('BEGIN')
    for (let left = 1 + Math.floor(Math.random() * 3); left > 0; left--) {
      const status = STATUSES[count % STATUSES.length]
      const insert = 'INSERT INTO animal (name, category_id, status) VALUES ($1, 1, $2) RETURNING id'
      const { rows } = await client.query<{ id: string }>(insert, [`sql ${count++}`, status])
      ids.push(...rows.map(({ id }) => id))
      await sleep((Math.random() * MAX_HOLD_MS) / 3)
    }
    const rollsBack = Math.random() < ROLLBACK_SHARE
    await client.query(rollsBack ? 'ROLLBACK' : 'COMMIT')
    if (rollsBack) rolledBack++
    else committed.push(...ids)
  }

  async function write(): Promise<void> {
    while (!stopping.signal.aborted) {
      const client = new pg.Client({ connectionString: url })
      client.on('error', () => {}) // the server is killed
      try {
        await client.connect()
        while (!stopping.signal.aborted) await transact(client)
      } catch {
        await sleep(50)
      } finally {
        await client.end().catch(() => {})
      }
    }
  }

  const writing = Promise.all(Array.from({ length: writers }, write))
  return {
    async stop() {
      stopping.abort()
      await writing
      return { committed, rolledBack }
    },
  }
}
