import { spawnSync } from 'node:child_process'

/** Prometheus' own checker, from the package `prometheus` of most systems. */
export const hasPromtool = spawnSync('promtool', ['--version']).status === 0
export const whySkipped = hasPromtool ? '' : ' (there is no promtool on the PATH)'
