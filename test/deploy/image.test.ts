import { validate } from 'dockerfile-utils'
import { expect, test } from 'vitest'
import { Environment } from '../../src/config/environment.ts'
import { read } from '../support/files.ts'
import { start } from './settings.ts'

const dockerfile = read('deploy/Dockerfile')

/** The last stage, which becomes the image. */
const image = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))

/** The arguments of an instruction in the exec form, which needs no shell. */
const commandOf = (instruction: string): string[] =>
  JSON.parse(new RegExp(`^${instruction} (.*)$`, 'm').exec(image)?.[1] ?? '')

test('the Dockerfile is valid', () => {
  expect(validate(dockerfile)).toEqual([])
})

test('the image runs as a user other than root, by number', () => {
  expect(image).toMatch(/^USER [1-9]\d*:[1-9]\d*$/m)
})

test('the image starts what npm start starts, without a shell', () => {
  expect([...commandOf('ENTRYPOINT'), ...commandOf('CMD')].join(' ')).toBe(start)
})

test('the health check uses /livez and the default port, without a shell', () => {
  const port = Environment.shape.PORT.parse(undefined)
  const [program, , script] = commandOf(' +CMD')
  expect(program).toBe('node')
  expect(script).toContain(`(process.env.PORT || ${port}) + '/livez'`)
  expect(image).toContain(`\nEXPOSE ${port}\n`)
})
