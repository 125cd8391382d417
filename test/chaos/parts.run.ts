import { afterAll, expect, test } from 'vitest'
import { type Measurement, type Part, toTable } from './assertions.ts'
import { consistency } from './consistency.ts'
import { failover } from './failover.ts'
import { firststart } from './firststart.ts'
import { poolExhausted } from './pool-exhausted.ts'
import { hostile } from './hostile.ts'
import { kills } from './kills.ts'
import { live } from './live.ts'
import { restarts } from './restarts.ts'
import { rolling } from './rolling.ts'
import { upgrade } from './upgrade.ts'
import { networkFaults } from './network-faults.ts'

// Parts run sequentially, since each needs the whole machine. run.mjs passes the names of the parts and their sizes.
const selected = (process.env.CHAOS_PARTS ?? '').split(' ').filter(Boolean)
const sizeOptions = JSON.parse(process.env.CHAOS_SIZES ?? '{}') as Record<string, number> // run.mjs has validated the numbers
const tables: string[] = []

function register<Sizes extends Record<string, number>>(name: string, part: Part<Sizes>): void {
  test.runIf(selected.length === 0 || selected.includes(name))(name, async ({ onTestFinished }) => {
    const overrides = Object.entries(sizeOptions).filter(([size]) => size in part.sizes)
    const sizes = { ...part.sizes, ...Object.fromEntries(overrides) }
    const startedAt = performance.now()
    const measurements: Measurement[] = await part.run((cleanUp) => onTestFinished(cleanUp, 60_000), sizes)
    const options = Object.entries(sizes).map(([size, value]) => ` --${size} ${value}`)
    const seconds = Math.round((performance.now() - startedAt) / 1_000)
    const table = `npm run chaos -- ${name}${options.join('')}   (${seconds} s)\n${toTable(measurements)}\n`
    tables.push(table)
    if (selected.length !== 1) console.log(`\n${table}`)
    expect(measurements.length).toBeGreaterThan(0)
    expect(measurements.filter(({ holds }) => !holds)).toEqual([])
  })
}

register('network-faults', networkFaults)
register('restarts', restarts)
register('rolling', rolling)
register('upgrade', upgrade)
register('failover', failover)
register('kills', kills)
register('consistency', consistency)
register('firststart', firststart)
register('live', live)
register('hostile', hostile)
register('pool-exhausted', poolExhausted)

afterAll(() => console.log(`\n${tables.join('\n')}`))
