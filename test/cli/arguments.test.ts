import { describe, expect, test } from 'vitest'
import { mintKey } from '../../src/auth/api-key.ts'
import { parseCommand, UsageError } from '../../src/cli/arguments.ts'

const COMMANDS = {
  create: { options: { name: 'NAME', expires: 'WHEN' } },
  list: { flags: ['json'] },
  revoke: { arguments: ['PREFIX'] },
} as const

function problemOf(args: string[]): string {
  try {
    parseCommand(args, COMMANDS, 'Usage: …')
  } catch (error) {
    expect(error).toBeInstanceOf(UsageError)
    const [problem = '', rest] = String((error as UsageError).message).split('\n\n')
    expect(rest).toBe('Usage: …')
    return problem
  }
  return 'none'
}

describe('parseCommand', () => {
  test('returns the command, its arguments, options and flags', () => {
    const created = parseCommand(['create', '--name', 'web shop', '--expires=90d'], COMMANDS, '')
    expect(created).toMatchObject({ command: 'create', positionals: [], options: { name: 'web shop', expires: '90d' } })
    expect(parseCommand(['--json', 'list'], COMMANDS, '').flags.has('json')).toBe(true)
    expect(parseCommand(['revoke', 'pets_1'], COMMANDS, '')).toMatchObject({
      command: 'revoke',
      positionals: ['pets_1'],
    })
    expect(parseCommand(['create', '--name=--x'], COMMANDS, '').options.name).toBe('--x')
  })

  const wrong: [string[], string][] = [
    [[], 'A command is missing.'],
    [['lst'], 'Unknown command: lst.'],
    [['toString'], 'Unknown command.'],
    [['list', '--jsn'], '`list` has no such option: --jsn.'],
    [['list', '-j'], '`list` has no such option: --j.'],
    [['list', '--name', 'web'], '`list` has no such option: --name.'],
    [['list', '--json=no'], '--json takes no value.'],
    [['list', 'web'], '`list` has too many arguments.'],
    [['create', '--name'], '--name needs a value: --name NAME'],
    [['create', '--name', '--expires', '1d'], '--name needs a value: --name NAME'],
    [['revoke'], 'PREFIX is missing.'],
    [['revoke', 'a', 'b'], '`revoke` has too many arguments.'],
  ]
  test.for(wrong)('says what is wrong, before the usage: %j', ([args, problem]) => {
    expect(problemOf(args)).toBe(problem)
  })

  test('never repeats an API key', () => {
    const key = mintKey()
    for (const args of [
      [key],
      ['list', key],
      ['list', `--${key}`],
      ['create', `--${key}=x`],
      ['list', `--json=${key}`],
    ]) {
      expect(problemOf(args)).toMatch(/^[^.]+\.$/)
      expect(problemOf(args)).not.toContain(key.slice(13, 30))
    }
  })
})
