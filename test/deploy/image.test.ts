import { validate } from 'dockerfile-utils'
import { expect, test } from 'vitest'
import { read, start } from './settings.ts'

const dockerfile = read('deploy/Dockerfile')

test('the Dockerfile is valid', () => {
  expect(validate(dockerfile)).toEqual([])
})

test('the image starts what npm start starts, without a shell, as a user other than root', () => {
  const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '))
  const argumentsOf = (name: string) => new RegExp(`^${name} (.*)$`, 'm').exec(last)?.[1] ?? '[]'
  const commands = ['ENTRYPOINT', 'CMD'].flatMap((name): string[] => JSON.parse(argumentsOf(name))) // the exec form is JSON
  expect(commands.join(' ')).toBe(start)
  expect(argumentsOf('USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/)
})
