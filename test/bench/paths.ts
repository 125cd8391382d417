import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

/** The project's folder, seen from where this file is compiled to: test/bench/dist/test/bench. */
export const root = fileURLToPath(new URL('../../../../../', import.meta.url))

/** Where results go. */
export const bench = fileURLToPath(new URL('../../../', import.meta.url))

const platform = `${process.platform}-${process.arch}`

/** Node 22 or newer, which PostGraphile needs: this one, or the one that npm brought; undefined when neither is. */
export const node22 =
  Number.parseInt(process.versions.node, 10) >= 22 ? process.execPath : broughtProgram(`node-${platform}/bin/node`)

/** Bun, if npm brought it. */
export const bun = broughtProgram(`@oven/bun-${platform}/bin/bun`)

function broughtProgram(path: string): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(path)
  } catch {
    return undefined
  }
}

/**
 * Which cores do what: the measured server alone on its own, PostgreSQL and the load on all but the first. One core is
 * not divided.
 */
export function coresFor(): { server: string; others: string } | undefined {
  const all = availableParallelism()
  return all < 2 ? undefined : { server: '0', others: range(1, all - 1) }
}

/** Cores as taskset names them. */
function range(first: number, last: number): string {
  return first === last ? String(first) : `${first}-${last}`
}
