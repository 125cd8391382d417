import { validate } from 'dockerfile-utils'
import { expect, test } from 'vitest'
import { Environment } from '../../src/environment.ts'
import { read } from '../support/files.ts'
import { start } from './settings.ts'

const dockerfile = read('deploy/Dockerfile')

/** The instructions of the Dockerfile with their arguments; a backslash continues a line. */
const instructions = dockerfile
  .replace(/^#.*\n/gm, '')
  .replace(/\\\n\s*/g, '')
  .split('\n')
  .filter(Boolean)
  .map((line) => line.split(/ (.*)/, 2) as [string, string]) // no instruction is without arguments

const argumentsOf = (name: string, lines = instructions) =>
  lines.filter(([one]) => one === name).map(([, rest]) => rest)

/** The instructions of the last stage, which becomes the image. */
const lastStage = instructions.slice(instructions.findLastIndex(([name]) => name === 'FROM'))

test('the Dockerfile is valid', () => {
  expect(validate(dockerfile)).toEqual([])
})

test('the image runs as a user other than root, by number', () => {
  expect(argumentsOf('USER', lastStage)).toEqual([expect.stringMatching(/^[1-9]\d*:[1-9]\d*$/)])
})

test('the image starts what npm start starts, without a shell', () => {
  const commands = [...argumentsOf('ENTRYPOINT', lastStage), ...argumentsOf('CMD', lastStage)]
  expect(commands.flatMap((text): string[] => JSON.parse(text)).join(' ')).toBe(start) // the exec form is JSON
})

test('the health check uses /livez and the default port, without a shell', () => {
  const [, check = ''] = argumentsOf('HEALTHCHECK', lastStage)[0]?.split(' CMD ') ?? []
  const [program, , script] = JSON.parse(check) as string[]
  const port = Environment.shape.PORT.parse(undefined)
  expect(program).toBe('node')
  expect(script).toContain(`(process.env.PORT || ${port}) + '/livez'`)
  expect(argumentsOf('EXPOSE', lastStage)).toEqual([String(port)])
})
