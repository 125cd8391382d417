import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { migrate } from '../../src/database/migrate.ts'
import { createClient } from '../chaos/client.ts'
import { animalsIn } from '../chaos/cluster.ts'
import { createLedger } from '../chaos/ledger.ts'
import { cases } from '../conformance/cases.ts'
import { createClient as createConformanceClient } from '../conformance/client.ts'
import { creations } from '../support/creations.ts'
import { startService } from '../support/harness.ts'
import { query } from '../support/postgres.ts'

const page = readFileSync(new URL('../../docs/scaling.md', import.meta.url), 'utf8')
const [, distribute = ''] = /^## Citus$[^]*?^```sql\n([^]*?)^```/m.exec(page) ?? []

const url = process.env.CITUS_URL
const title = 'on Citus the service passes the conformance suite, and loses and doubles no animal'

test.skipIf(!url)(`${title}${url ? '' : ' (CITUS_URL names no database)'}`, async () => {
  const citus = url ?? ''
  await query(citus, 'DROP TABLE IF EXISTS idempotency_key, animal, api_key, rate_limit, _prisma_migrations')
  await query(citus, 'DROP TYPE IF EXISTS pet_status')
  await migrate(citus)
  for (const statement of distribute.split(/;$/m)) await query(citus, statement)
  const service = await startService(citus)

  const conformance = createConformanceClient(`${service.base}/v1`, service.key)
  for (const { title, run } of cases) await expect(run(conformance), title).resolves.toBeUndefined()

  for (const [title, create] of Object.entries(creations)) {
    const created = await create(service, 'x')
    expect(created, title).toHaveProperty('id')
    if (title.includes('Idempotency-Key')) expect(await create(service, 'x'), title).toEqual(created)
  }

  await query(citus, 'TRUNCATE idempotency_key, animal')
  const client = createClient(service.port, service.key, 8)
  const ledger = createLedger()
  const writers = ledger.write(client, 8)
  await ledger.reaches(400)
  await writers.stop()
  client.close()
  expect(ledger.audit(await animalsIn(citus)).filter(({ holds }) => !holds)).toEqual([])
})
