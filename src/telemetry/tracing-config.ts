import type { Logger } from 'pino'

/** How long shutdown waits for the last spans to be sent, in milliseconds. */
export const TRACING_STOP_TIMEOUT_MS = 2_000

const EXPORTERS = ['otlp', 'console', 'none'] as const
const PROTOCOLS = ['http/protobuf'] as const

export type Exporter = Exclude<(typeof EXPORTERS)[number], 'none'>

/** Starts tracing if the environment variables enable it. Otherwise OpenTelemetry's SDK is not loaded. */
export async function startConfiguredTracing(env: NodeJS.ProcessEnv, log: Logger) {
  const exporters = readExporters(env, (warning) => log.warn(warning))
  if (!exporters.length) return undefined
  const { startTracing } = await import('./tracing.ts')
  return startTracing({ exporters, log })
}

/**
 * Tracing is on if an exporter or the URL of a collector is set and the SDK is not disabled. The SDK reads the other variables.
 * @param warn receives a line for each unsupported value, which is ignored, as OpenTelemetry's specification requires
 */
export function readExporters(env: NodeJS.ProcessEnv, warn: (warning: string) => void): Exporter[] {
  const read = (...names: string[]) => names.map((name) => env[name]?.trim()).find(Boolean)
  const supported = <T extends string>(variable: string, values: readonly T[], text: string): T | undefined => {
    const value = values.find((one) => one === text)
    if (!value) warn(`${variable}: unsupported value ${text}; expected one of ${values.join(', ')}`)
    return value
  }

  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return []
  const endpoint = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const names = (read('OTEL_TRACES_EXPORTER') ?? (endpoint ? 'otlp' : 'none')).split(',')
  const exporters = names.map((name) => supported('OTEL_TRACES_EXPORTER', EXPORTERS, name.trim()))
  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL')
  if (protocol) supported('OTEL_EXPORTER_OTLP_PROTOCOL', PROTOCOLS, protocol)
  return exporters.filter((name) => name !== undefined && name !== 'none')
}
