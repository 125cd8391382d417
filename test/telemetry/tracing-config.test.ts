import { describe, expect, test } from 'vitest'
import { readExporters } from '../../src/telemetry/tracing-config.ts'

const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

describe('the standard OTEL_* variables enable tracing', () => {
  test.for([
    [{}, []],
    [endpoint, ['otlp']],
    [{ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://collector:4318/v1/traces' }, ['otlp']],
    [{ OTEL_TRACES_EXPORTER: 'otlp' }, ['otlp']],
    [{ OTEL_TRACES_EXPORTER: 'console, otlp' }, ['console', 'otlp']],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'console' }, ['console']],
    [{ ...endpoint, OTEL_TRACES_EXPORTER: 'none' }, []],
    [{ ...endpoint, OTEL_SDK_DISABLED: 'TRUE' }, []],
    [{ ...endpoint, OTEL_SDK_DISABLED: '' }, ['otlp']],
    [{ OTEL_EXPORTER_OTLP_ENDPOINT: '', OTEL_TRACES_EXPORTER: ' ' }, []],
    [{ OTEL_SERVICE_NAME: 'pets', OTEL_TRACES_SAMPLER: 'always_on' }, []],
  ] as const)('%j: %j', ([env, exporters]) => {
    expect(readExporters(env, expect.unreachable)).toEqual(exporters)
  })
})

test('an unsupported value is ignored, with a warning that names the variable', () => {
  const env = { OTEL_TRACES_EXPORTER: 'zipkin,otlp', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
  const warnings: string[] = []
  const exporters = readExporters(env, (warning) => warnings.push(warning))
  expect(exporters).toEqual(['otlp'])
  expect(warnings).toEqual([
    'OTEL_TRACES_EXPORTER: unsupported value zipkin; expected one of otlp, console, none',
    'OTEL_EXPORTER_OTLP_PROTOCOL: unsupported value grpc; expected one of http/protobuf',
  ])
})
