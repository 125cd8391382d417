import { describe, expect } from 'vitest'
import { cases } from './cases.ts'
import { createClient } from './client.ts'
import { execute } from './command.ts'
import { runSuite, USAGE } from './suite.ts'
import { withOutput } from '../support/commands.ts'
import { pathOf } from '../support/files.ts'
import { testWithService as test } from '../support/harness.ts'
import { freePort, launch } from '../support/processes.ts'

/** Runs the command in this process. */
const conformance = (...args: string[]) => withOutput(() => execute(USAGE, runSuite, args))

test('the conformance suite fails every case against a service that rejects every request', async ({ service }) => {
  const client = createClient(`${service.base}/v1`, 'not-a-key')
  const outcomes = await Promise.allSettled(cases.map(({ run }) => run(client)))
  const passed = cases.map(({ title }) => title).filter((_, n) => outcomes[n]?.status === 'fulfilled')
  // Cases that still pass: 401 itself, and the headers that every response of getPet has.
  expect(passed.filter((title) => !/401|Deprecation/.test(title))).toEqual([])
})

describe('npm run conformance', () => {
  test('passes against the service, and announces the animals before it adds them', async ({ service }) => {
    const args = ['--base-url', service.base, '--key', service.key]
    const { code, stdout, stderr } = await launch(pathOf('test/conformance/run.mjs'), args, {}).exited
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(
      /^This run adds animals named "conformance …" to \S+\/v1\.\nThe API has no operation that deletes/,
    )
    expect(stdout).toMatch(new RegExp(`\n\n${cases.length} passed, 0 failed\n$`))
  })

  test('--read-only adds nothing, and passes also without an animal', async ({ service }) => {
    const args = ['--base-url', service.base, '--key', service.key, '--read-only']
    const { code, stdout, stderr } = await conformance(...args)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).not.toContain('This run adds')
    expect(stdout).toMatch(/\n\n\d+ passed, 0 failed, \d+ skipped\n$/)
    expect(stdout.match(/^ok {4}/gm)?.length).toBeGreaterThan(30)
    await service.post({ name: 'Rex', categoryId: 1 })
    expect((await conformance('--base-url', `${service.base}/v1/`, ...args.slice(2))).code).toBe(0)
    expect(await (await service.send('/v1/pets')).json()).toHaveLength(1)
  })

  test('reports once that there is no response, or that the key is not valid', async ({ service }) => {
    const port = await freePort()
    const nothing = await conformance('--base-url', `http://127.0.0.1:${port}`, '--key', service.key)
    const message = `No response from http://127.0.0.1:${port}/v1/pets: ECONNREFUSED\n`
    expect(nothing).toEqual({ code: 1, stdout: '', stderr: message })
    const unauthorized = await conformance('--base-url', service.base, '--key', 'wrong')
    const stderr = `${service.base}/v1/pets responds 401: the key is not valid there.\n`
    expect(unauthorized).toEqual({ code: 1, stdout: '', stderr })
  })

  test('--help prints the usage', async () => {
    const stdout = expect.stringMatching(/^Usage: npm run conformance /)
    expect(await conformance('--help')).toEqual({ code: 0, stdout, stderr: '' })
  })
})
