import { afterAll, expect, test } from 'vitest'
import { type Measurement, type Part, toTable } from './assertions.ts'
import { consistency } from './consistency.ts'
import { firststart } from './firststart.ts'
import { poolExhausted } from './pool-exhausted.ts'
import { hostile } from './hostile.ts'
import { kills } from './kills.ts'
import { restarts } from './restarts.ts'
import { rolling } from './rolling.ts'
import { networkFaults } from './network-faults.ts'

// One part after the other: each needs the whole machine. run.mjs passes the parts and their sizes.
const chosen = (process.env.CHAOS_PARTS ?? '').split(' ').filter(Boolean)
const sizesGiven = JSON.parse(process.env.CHAOS_SIZES ?? '{}') as Record<string, number> // numbers, by run.mjs
const tables: string[] = []

function register<Sizes extends Record<string, number>>(name: string, part: Part<Sizes>): void {
  test.runIf(chosen.length === 0 || chosen.includes(name))(name, async ({ onTestFinished }) => {
    const given = Object.entries(sizesGiven).filter(([size]) => size in part.sizes)
    const sizes = { ...part.sizes, ...Object.fromEntries(given) }
    const began = performance.now()
    const figures: Measurement[] = await part.run((end) => onTestFinished(end, 60_000), sizes)
    const options = Object.entries(sizes).map(([size, value]) => ` --${size} ${value}`)
    const seconds = Math.round((performance.now() - began) / 1_000)
    const table = `npm run chaos -- ${name}${options.join('')}   (${seconds} s)\n${toTable(figures)}\n`
    tables.push(table)
    if (chosen.length !== 1) console.log(`\n${table}`)
    expect(figures.length).toBeGreaterThan(0)
    expect(figures.filter(({ holds }) => !holds)).toEqual([])
  })
}

register('network-faults', networkFaults)
register('restarts', restarts)
register('rolling', rolling)
register('kills', kills)
register('consistency', consistency)
register('firststart', firststart)
register('hostile', hostile)
register('pool-exhausted', poolExhausted)

afterAll(() => console.log(`\n${tables.join('\n')}`))
