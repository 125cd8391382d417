import { diag } from '@opentelemetry/api'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { startTracing } from '../../src/telemetry/tracing.ts'
import { collectLog } from '../support/output.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }

/** Starts tracing, and stops it. @returns whether it is on, and what was logged */
async function start(env: NodeJS.ProcessEnv) {
  diag.disable() // which another file of this process may have set
  const log = collectLog()
  const tracing = await startTracing(env, pino({}, log))
  await tracing?.stop()
  return { isOn: tracing !== undefined, messages: log.lines.map(({ msg }) => msg) }
}

describe('the standard OTEL_* variables enable tracing', () => {
  test.for([
    [{}, false],
    [endpoint, true],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://127.0.0.1:1/v1/traces' }, true],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, true],
    [{ OTEL_TRACES_EXPORTER: 'console, otlp' }, true],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, false],
    [{ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }, false],
    [{ ...endpoint, OTEL_SDK_DISABLED: '' }, true],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_EXPORTER: ' ' }, false],
    [{ OTEL_SERVICE_NAME: 'pets', OTEL_TRACES_SAMPLER: 'always_on' }, false],
  ] as const)('%j: %j', async ([env, isOn]) => {
    expect(await start(env)).toEqual({ isOn, messages: [] })
  })
})

test('an exporter that is not supported is ignored, with a warning that names it', async () => {
  const messages = ['OTEL_TRACES_EXPORTER: zipkin is not supported']
  expect(await start({ OTEL_TRACES_EXPORTER: 'zipkin,otlp' })).toEqual({ isOn: true, messages })
})
