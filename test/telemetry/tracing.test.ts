import { context, diag, propagation } from '@opentelemetry/api'
import { globalErrorHandler } from '@opentelemetry/core'
import { pino } from 'pino'
import { expect, test, vi } from 'vitest'
import { startTracing } from '../../src/telemetry/tracing.ts'

test('export failures are logged at most once per minute', async () => {
  context.disable() // which another file of this process may have set
  propagation.disable()
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const lines: Record<string, unknown>[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await startTracing({ exporters: [], log })
  for (let i = 0; i < 10; i++) globalErrorHandler(new Error('connect ECONNREFUSED'))
  diag.warn('dropped some')
  diag.info('all is well')
  const first = { level: 40, msg: 'span export failed', err: { message: 'connect ECONNREFUSED' }, count: 1 }
  expect(lines).toMatchObject([first])
  vi.advanceTimersByTime(59_000)
  expect(lines).toHaveLength(1)
  vi.advanceTimersByTime(2_000)
  expect(lines).toMatchObject([first, { msg: 'span export failed', err: 'dropped some', count: 10 }])
  globalErrorHandler(new Error('again'))
  expect(lines).toHaveLength(2)
  vi.useRealTimers()
})
