/** One measurement of a run, optionally with a bound. */
export interface Measurement {
  name: string
  value: string
  /** Empty if the measurement is informational. */
  bound: string
  /** Whether the value is within the bound. */
  holds: boolean
  /** The bound is only checked in runs that have the machine to themselves, since the value depends on its load. */
  needsQuietMachine?: boolean
}

/** Marks a bound on time. */
export function onQuietMachine(measurement: Measurement): Measurement {
  return { ...measurement, needsQuietMachine: true }
}

/** Registers a cleanup function; they run in reverse order when the part is finished. Vitest's onTestFinished. */
export type Defer = (cleanUp: () => Promise<void> | void) => void

/** A chaos test with its default sizes. */
export interface Part<Sizes> {
  sizes: Sizes
  run(defer: Defer, sizes: Sizes): Promise<Measurement[]>
}

export function definePart<Sizes extends Record<string, number>>(sizes: Sizes, run: Part<Sizes>['run']): Part<Sizes> {
  return { sizes, run }
}

export function exactly(name: string, value: number, expected: number): Measurement {
  return { name, value: format(value), bound: `= ${format(expected)}`, holds: value === expected }
}

export function atLeast(name: string, value: number, limit: number, unit = ''): Measurement {
  return { name, value: format(value, unit), bound: `≥ ${format(limit, unit)}`, holds: value >= limit }
}

export function atMost(name: string, value: number, limit: number, unit = ''): Measurement {
  return { name, value: format(value, unit), bound: `≤ ${format(limit, unit)}`, holds: value <= limit }
}

/** A measurement without a bound. */
export function info(name: string, value: number | string, unit = ''): Measurement {
  return { name, value: typeof value === 'string' ? value : format(value, unit), bound: '', holds: true }
}

/** Formats measurements as the lines of a table. */
export function toTable(measurements: Measurement[]): string {
  const width = (cells: string[]) => Math.max(0, ...cells.map((cell) => cell.length))
  const nameWidth = width(measurements.map(({ name }) => name))
  const valueWidth = width(measurements.map(({ value }) => value))
  const boundWidth = width(measurements.map(({ bound }) => bound))
  return measurements
    .map(({ name, value, bound, holds }) => {
      const cells = [
        name.padEnd(nameWidth),
        value.padStart(valueWidth),
        bound.padEnd(boundWidth),
        holds ? '' : 'FAILED',
      ]
      return `  ${cells.join('  ')}`.trimEnd()
    })
    .join('\n')
}

/** @returns the value below which this fraction of the values lies */
export function quantile(values: readonly number[], fraction: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))] ?? 0
}

function format(value: number, unit = ''): string {
  const digits = Number.isInteger(value) || value >= 100 ? 0 : 1
  return `${value.toLocaleString('en', { maximumFractionDigits: digits })}${unit && ` ${unit}`}`
}
