/** One figure of a run and, where something is promised of it, whether the promise holds. */
export interface Measurement {
  name: string
  value: string
  /** What is promised; empty where the figure is only told. */
  bound: string
  holds: boolean
  /** It says as much of the machine as of the service: only a run that has the machine to itself is held to it. */
  needsQuietMachine?: boolean
}

/** Marks a promise about time. */
export function onQuietMachine(figure: Measurement): Measurement {
  return { ...figure, needsQuietMachine: true }
}

/** Ends, in reverse order, what a part started; vitest's onTestFinished. */
export type Defer = (end: () => Promise<void> | void) => void

/** A part of the harness: what it measures, how much of it by default, and how. */
export interface Part<Sizes> {
  sizes: Sizes
  run(defer: Defer, sizes: Sizes): Promise<Measurement[]>
}

export function definePart<Sizes extends Record<string, number>>(sizes: Sizes, run: Part<Sizes>['run']): Part<Sizes> {
  return { sizes, run }
}

export function exactly(name: string, value: number, expected: number): Measurement {
  return { name, value: show(value), bound: `= ${show(expected)}`, holds: value === expected }
}

export function atLeast(name: string, value: number, limit: number, unit = ''): Measurement {
  return { name, value: show(value, unit), bound: `≥ ${show(limit, unit)}`, holds: value >= limit }
}

export function atMost(name: string, value: number, limit: number, unit = ''): Measurement {
  return { name, value: show(value, unit), bound: `≤ ${show(limit, unit)}`, holds: value <= limit }
}

/** A figure of which nothing is promised. */
export function info(name: string, value: number | string, unit = ''): Measurement {
  return { name, value: typeof value === 'string' ? value : show(value, unit), bound: '', holds: true }
}

/** The figures as lines of a table. */
export function toTable(figures: Measurement[]): string {
  const width = (cells: string[]) => Math.max(0, ...cells.map((cell) => cell.length))
  const [name, value, must] = [
    width(figures.map((f) => f.name)),
    width(figures.map((f) => f.value)),
    width(figures.map((f) => f.bound)),
  ]
  return figures
    .map((f) =>
      `  ${f.name.padEnd(name)}  ${f.value.padStart(value)}  ${f.bound.padEnd(must)}  ${f.holds ? '' : 'BROKEN'}`.trimEnd(),
    )
    .join('\n')
}

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
}

function show(value: number, unit = ''): string {
  const digits = Number.isInteger(value) || value >= 100 ? 0 : 1
  return `${value.toLocaleString('en', { maximumFractionDigits: digits })}${unit && ` ${unit}`}`
}
