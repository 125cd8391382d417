import { context, diag, propagation } from '@opentelemetry/api'
import { globalErrorHandler } from '@opentelemetry/core'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { startTracing } from '../../src/telemetry/tracing.ts'

test('that traces are lost is told once a minute, however often it happens', async () => {
  context.disable() // which another file of this process may have set
  propagation.disable()
  vi.useFakeTimers({ toFake: ['performance'] })
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await startTracing({ exporters: [], protocol: 'http/json', version: 'test', log, redact: String })
  for (let i = 0; i < 10; i++) globalErrorHandler(new Error('connect ECONNREFUSED'))
  diag.warn('dropped some')
  diag.info('all is well')
  expect(lines).toMatchObject([{ level: 40, msg: 'traces are lost', err: { message: 'connect ECONNREFUSED' } }])
  vi.advanceTimersByTime(61_000)
  globalErrorHandler(new Error('again'))
  expect(lines).toHaveLength(2)
  vi.useRealTimers()
})
