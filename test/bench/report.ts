import type { Series } from './compare.ts'
import type { Measured } from './measure.ts'

/** Median, least and greatest of the rounds. */
export interface Spread {
  median: number
  min: number
  max: number
}

/** One variant at one workload, as it is printed, drawn and written. */
export interface Result {
  workload: string
  variant: string
  title: string
  /** Requests a second against those of `against`, round by round; 1 for that one itself. */
  ratio: Spread
  against: string
  perSecond: Spread
  p50Ms: number
  p99Ms: number
  serverCpu: number | undefined
  postgresCpu: number | undefined
  peakRssMb: number | undefined
}

/** Holds every variant against the first peer of its API, in the same round of the same workload. */
export function resultsOf(all: Series[]): Result[] {
  return all.map(({ workload, variant, rounds }) => {
    const rivals = all.filter((other) => other.workload === workload)
    const base = rivals.find((other) => !other.variant.name.startsWith('service')) ?? rivals[0]
    const ratios = rounds.map(({ perSecond }, i) => perSecond / (base?.rounds[i]?.perSecond ?? Number.NaN))
    return {
      workload: workload.name,
      variant: variant.name,
      title: variant.title,
      ratio: spreadOf(ratios),
      against: base?.variant.name ?? '',
      perSecond: spreadOf(rounds.map((one) => one.perSecond)),
      ...mediansOf(rounds),
    }
  })
}

export function mediansOf(rounds: Measured[]) {
  const of = (pick: (one: Measured) => number | undefined) => {
    const values = rounds.map(pick).filter((value) => value !== undefined)
    return values.length ? spreadOf(values).median : undefined
  }
  return {
    p50Ms: of((one) => one.p50Ms) ?? Number.NaN,
    p99Ms: of((one) => one.p99Ms) ?? Number.NaN,
    serverCpu: of((one) => one.serverCpu),
    postgresCpu: of((one) => one.postgresCpu),
    peakRssMb: of((one) => one.peakRssMb),
  }
}

export function spreadOf(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const [low = Number.NaN, high = Number.NaN] = [sorted[(sorted.length - 1) >> 1], sorted[sorted.length >> 1]]
  return { median: (low + high) / 2, min: sorted[0] ?? Number.NaN, max: sorted.at(-1) ?? Number.NaN }
}

/** The comparison as text, the fastest of each workload first. */
export function comparisonTable(results: Result[]): string {
  const workloads = [...new Set(results.map(({ workload }) => workload))]
  return workloads
    .map((workload) => {
      const rows = results.filter((one) => one.workload === workload).sort((a, b) => b.ratio.median - a.ratio.median)
      return table([
        [workload, 'ratio', 'min', 'max', 'req/s', 'p50 ms', 'p99 ms', 'CPU s/1000', 'PostgreSQL', 'peak MB'],
        ...rows.map((one) => [
          one.title,
          ...[one.ratio.median, one.ratio.min, one.ratio.max].map((ratio) => fixed(ratio, 2)),
          fixed(one.perSecond.median, 0),
          ...[fixed(one.p50Ms, 1), fixed(one.p99Ms, 1)],
          ...[fixed(one.serverCpu, 3), fixed(one.postgresCpu, 3), fixed(one.peakRssMb, 0)],
        ]),
      ])
    })
    .join('\n\n')
}

/** Columns as wide as their widest cell; the first to the left, figures to the right. */
export function table(rows: string[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) =>
      row.map((cell, i) => (i ? cell.padStart(widths[i] ?? 0) : cell.padEnd(Math.max(36, widths[0] ?? 0)))).join('  '),
    )
    .join('\n')
}

/** A dash for what could not be measured. */
export function fixed(value: number | undefined, digits: number): string {
  return value === undefined || Number.isNaN(value) ? '–' : value.toFixed(digits)
}
