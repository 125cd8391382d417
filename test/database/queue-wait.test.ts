import { expect, test } from 'vitest'
import { createWaitEstimator } from '../../src/database/queue-wait.ts'

function createClock() {
  let now = 0
  return { now: () => now, advance: (ms: number) => (now += ms) }
}

test('without waiters the estimate is 0', () => {
  const { now, advance } = createClock()
  const { enter, expectedMs } = createWaitEstimator(now)
  const leave = enter(true)
  advance(900)
  leave(true)
  expect(expectedMs()).toBe(0)
})

test('before a service rate is measured, the estimate is the age of the oldest waiter', () => {
  const { now, advance } = createClock()
  const { enter, expectedMs } = createWaitEstimator(now)
  enter(true)
  advance(30)
  enter(true)
  advance(20)
  expect(expectedMs()).toBe(50)
})

test('with a measured service rate, the estimate is the queue length times the mean time between checkouts', () => {
  const { now, advance } = createClock()
  const { enter, expectedMs } = createWaitEstimator(now)
  for (let n = 0; n < 100; n++) {
    const leave = enter(true)
    advance(20)
    leave(true)
  }
  for (let n = 0; n < 10; n++) enter(true)
  expect(expectedMs()).toBeCloseTo(200)
})

test('a checkout that fails or takes an idle connection does not change the service rate', () => {
  const { now, advance } = createClock()
  const { enter, expectedMs } = createWaitEstimator(now)
  for (let n = 0; n < 100; n++) {
    const [failed, idle] = [enter(true), enter(false)]
    advance(20)
    failed(false)
    idle(true)
  }
  enter(true)
  expect(expectedMs()).toBe(0)
})

test('the service rate is unknown again after a minute without waiters', () => {
  const { now, advance } = createClock()
  const { enter, expectedMs } = createWaitEstimator(now)
  for (let n = 0; n < 100; n++) {
    const leave = enter(true)
    advance(20)
    leave(true)
  }
  advance(60_000)
  enter(true)
  expect(expectedMs()).toBe(0)
})
