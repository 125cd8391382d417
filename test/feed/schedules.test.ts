import fc from 'fast-check'
import { expect, test } from 'vitest'
import { replaceTimers } from './model/clock.ts'
import { SERVER_FAULTS, type ServerFault } from './model/postgres.ts'
import { schedule } from './model/schedule.ts'
import { simulate } from './model/simulate.ts'

/** `npm run fuzz` runs 100,000. A failure prints seed and path: FUZZ_SEED repeats the run, with FUZZ_PATH that schedule. */
const schedules = Number(process.env['FUZZ_SCHEDULES'] ?? 1_000)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)
const path = process.env['FUZZ_PATH'] ?? ''

function createProperty(fault?: ServerFault) {
  const setClock = replaceTimers()
  return fc.asyncProperty(schedule, (one) => simulate(one, setClock, fault))
}

test(
  `in ${schedules} generated schedules, every client receives every animal once, in order of id (seed ${seed}) [F1, F3, F9, F10]`,
  { timeout: 3_600_000 },
  () => fc.assert(createProperty(), { numRuns: schedules, seed, path }),
)

test.for(SERVER_FAULTS)(
  'the schedules find that a server that %s loses animals',
  { timeout: 3_600_000 },
  async (fault) => {
    const { failed } = await fc.check(createProperty(fault), { numRuns: 10_000, endOnFailure: true })
    expect(failed).toBe(true)
  },
)
