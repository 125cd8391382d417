/** What the standard variables of OpenTelemetry ask for, as far as the SDK does not read them itself. */
export interface TracingConfig {
  /** Where spans go; nowhere when there is none. */
  exporters: Exporter[]
  protocol: Protocol
  /** What was asked for and is not to be had, a line each: the specification wants it told and passed over. */
  warnings: string[]
}

const Exporters = ['otlp', 'console', 'none'] as const
const Protocols = ['http/protobuf', 'http/json'] as const
type Exporter = (typeof Exporters)[number]
type Protocol = (typeof Protocols)[number]

/** Traces are made when an exporter is named, or the address of a collector, and the SDK is not disabled. */
export function readTracingConfig(env: NodeJS.ProcessEnv): TracingConfig {
  const read = (...names: string[]) => names.map((name) => env[name]?.trim()).find(Boolean)
  const warnings: string[] = []
  const known = <T extends string>(variable: string, values: readonly T[], text: string): T | undefined => {
    const value = values.find((one) => one === text)
    if (!value) warnings.push(`${variable}: ${text} is not to be had here; ${values.join(', ')} are`)
    return value
  }

  if (read('OTEL_SDK_DISABLED')?.toLowerCase() === 'true') return { exporters: [], protocol: Protocols[0], warnings }
  const endpoint = read('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'OTEL_EXPORTER_OTLP_ENDPOINT')
  const names = (read('OTEL_TRACES_EXPORTER') ?? (endpoint ? 'otlp' : 'none')).split(',')
  const exporters = names.map((name) => known('OTEL_TRACES_EXPORTER', Exporters, name.trim()))
  const protocol = read('OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'OTEL_EXPORTER_OTLP_PROTOCOL') ?? Protocols[0]
  return {
    exporters: exporters.filter((name) => name !== undefined && name !== 'none'),
    protocol: known('OTEL_EXPORTER_OTLP_PROTOCOL', Protocols, protocol) ?? Protocols[0],
    warnings,
  }
}
