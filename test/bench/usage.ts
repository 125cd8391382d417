import { readdirSync, readFileSync } from 'node:fs'

/** What a process and all below it have used so far; undefined where there is no /proc. */
export interface Usage {
  cpuSeconds: number
  peakRssMb: number
}

/** The kernel tells a process's time in hundredths of a second, on every Linux. */
const TICKS = 100

/** Sums a process, its descendants, and those of its children that have ended. */
export function usageOf(pid: number): Usage | undefined {
  const stats = allStats()
  const root = stats.get(pid)
  if (!root) return undefined
  const family = [pid]
  for (const parent of family) {
    for (const [child, { ppid }] of stats) if (ppid === parent) family.push(child)
  }
  const ticks = family.reduce((sum, one) => sum + (stats.get(one)?.ticks ?? 0), root.ticksOfEnded)
  return { cpuSeconds: ticks / TICKS, peakRssMb: family.reduce((sum, one) => sum + peakRssMb(one), 0) }
}

/** Of every process: parent, own time, and the time of children that it has waited for (proc(5), fields 4, 14 to 17). */
function allStats() {
  const stats = new Map<number, { ppid: number; ticks: number; ticksOfEnded: number }>()
  for (const name of list('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const text = read(`/proc/${name}/stat`)
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ') // the name before may hold spaces
    const field = (n: number) => Number(fields[n - 3])
    if (text)
      stats.set(Number(name), { ppid: field(4), ticks: field(14) + field(15), ticksOfEnded: field(16) + field(17) })
  }
  return stats
}

function peakRssMb(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1024
}

/** Empty when the process has ended meanwhile, or there is no /proc. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
