import { expect, test } from 'vitest'
import { keyPrefix, mintKey } from '../../src/auth/api-keys.ts'
import { createLogger, createThrottledLog } from '../../src/telemetry/logger.ts'
import { collectLog } from '../support/output.ts'
import { testWithProcess, unreachableDatabaseUrl } from '../support/processes.ts'
import { waitUntil } from '../support/timeouts.ts'

testWithProcess('of a key in a line only the prefix is printed, and an exit loses no line', async ({ sandbox }) => {
  const service = await sandbox.start({ DATABASE_URL: await unreachableDatabaseUrl() })
  const keys = [mintKey(), mintKey().toUpperCase()]
  for (const key of keys) await fetch(`${service.base}/nothing`, { headers: { 'X-Request-Id': key } })
  const { stdout } = await service.signal('SIGTERM')
  const ids = [...stdout.matchAll(/"requestId":"(.*?)"/g)].map(([, id]) => id)
  expect(ids).toEqual(keys.map((key) => `${keyPrefix(key)}…`))
  expect(stdout).toMatch(/"msg":"stopped"}\n$/)
})

test('a line about repetitions has the message and the details of the same event', async () => {
  const { lines, ...log } = collectLog()
  const warn = createThrottledLog(createLogger('info', log), 1)
  for (const n of [1, 2, 3]) warn(`event ${n}`, { n }, 'key')
  await waitUntil(() => lines.length > 1)
  expect(lines).toMatchObject([
    { n: 1, count: 1, msg: 'event 1' },
    { n: 3, count: 2, msg: 'event 3' },
  ])
})

test('what clients repeat under more than 1,000 keys of their choice takes 1,001 lines', () => {
  const { lines, ...log } = collectLog()
  const warn = createThrottledLog(createLogger('info', log), 60_000)
  for (let n = 0; n < 5_000; n++) warn('rejected', {}, `client ${n}`)
  expect(lines).toHaveLength(1_001)
})
