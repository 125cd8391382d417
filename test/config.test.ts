import { describe, expect } from 'vitest'
import { loadConfig } from '../src/config.ts'
import { Environment } from '../src/environment.ts'
import { limitsOf } from '../src/limits.ts'
import { OperatorError } from '../src/operator-error.ts'
import { temporaryFile } from './support/files.ts'
import { testWithProcess as test } from './support/processes.ts'

const secret = 'postgresql://pets:topsecret@db.internal:5432/pets'

/** @returns the one line that rejects an environment */
function errorOf(env: Record<string, string>): string {
  try {
    loadConfig(env)
  } catch (error) {
    if (error instanceof OperatorError && !error.message.includes('\n'))
      return error.message.replace(/^Configuration: /, '')
    throw error
  }
  throw new Error('the environment is valid')
}

describe('timeouts are nested', () => {
  test('a HANDLER_TIMEOUT_MS that is not less than REQUEST_TIMEOUT_MS is rejected', () => {
    const message = 'HANDLER_TIMEOUT_MS (15000) must be less than REQUEST_TIMEOUT_MS (15000)'
    expect(errorOf({ HANDLER_TIMEOUT_MS: '15000' })).toBe(message)
  })

  test('for the database as shares of the least HANDLER_TIMEOUT_MS, none of which is 0', () => {
    const { lockTimeoutMs, statementTimeoutMs, queryTimeoutMs, checkoutTimeoutMs } = limitsOf({
      HANDLER_TIMEOUT_MS: 100,
    })
    expect([lockTimeoutMs, statementTimeoutMs, queryTimeoutMs, checkoutTimeoutMs]).toEqual([20, 40, 60, 20])
    expect(errorOf({ HANDLER_TIMEOUT_MS: '99' })).toMatch(/^HANDLER_TIMEOUT_MS must be .* from 100 /)
  })
})

test.for(['12/b', 'p@ss/w', 'p@ss#w', 'a?b', ':x#'])(
  'a password that is not percent-encoded is rejected: %s',
  (password) => {
    for (const variable of ['DATABASE_URL', 'DATABASE_REPLICA_URLS'])
      expect(errorOf({ [variable]: `postgresql://petstore:${password}@127.0.0.1:5432/pets` })).toBe(
        `${variable} must have special characters of the password, such as / and #, percent-encoded (%2F, %23)`,
      )
  },
)

test('a DATABASE_URL with several hosts is rejected with the reason, one with a comma in its password is not', () => {
  const url = 'postgresql://user:sec,ret@one:5432/pets'
  expect(loadConfig({ DATABASE_URL: url })).toMatchObject({ DATABASE_URL: url })
  expect(errorOf({ DATABASE_URL: 'postgresql://user:secret@one:5432,two:5432/pets' })).toBe(
    'DATABASE_URL must name one host: after a failover, a proxy or a virtual address leads to the new primary',
  )
})

test('OIDC_ISSUER and OIDC_AUDIENCE are set together', () => {
  const both = { OIDC_ISSUER: 'http://localhost:3000', OIDC_AUDIENCE: 'pets' }
  expect(loadConfig(both)).toMatchObject(both)
  for (const [name, value] of Object.entries(both)) {
    expect(errorOf({ [name]: value })).toBe('OIDC_ISSUER and OIDC_AUDIENCE must be set together')
  }
})

describe('an invalid value is reported in one line that names its variable', () => {
  const invalid: Record<string, string[]> = {
    NODE_ENV: ['prod'],
    OIDC_ISSUER: [
      ...['issuer.example', 'http://issuer.example', 'https://user@issuer.example', 'http://localhost.example'],
      ...['https://issuer.example?a=b', 'https://issuer.example#a', 'http://127.0.0.1.example'],
    ],
    RATE_LIMIT_POINTS: ['-1', '1e3'],
    TRUSTED_PROXIES: [
      'everybody',
      '10.0.0.0/33',
      '10.0.0.0/8, 300.1.1.1',
      'true',
      '0.0.0.0/0',
      '10.0.0.0/8, ::/0',
      '64:ff9b::10.0.0.1',
    ],
    CORS_ORIGINS: [
      ...['null', 'shop.example', 'https://shop.example/', 'https://shop.example/path', 'https://Shop.example'],
      ...['https://shop.example:443', 'https://*.shop.example', '*, https://shop.example', 'https://shop.example,'],
      ...['https://shop.example, null', 'https://user@shop.example'],
    ],
    STREAM_LIMIT: ['many'],
    LOG_LEVEL: ['verbose'],
    DATABASE_URL: ['mysql://pets:topsecret@localhost/pets'],
    DATABASE_URL_FILE: ['/nowhere/at/all', '/'],
    PRODUCTION_URL: ['https://[/v1', 'https://user:topsecret@pets.example/v1'],
    STAGING_URL: ['https://pets.example/v2'],
  }
  test.for(Object.entries(invalid).flatMap(([variable, values]) => values.map((value) => [variable, value] as const)))(
    '%s=%s',
    ([variable, value]) => {
      const message = errorOf({ [variable]: value })
      expect(message).toMatch(new RegExp(`^${variable} `))
      expect(message).not.toContain('topsecret')
    },
  )

  test('production requires DATABASE_URL', () => {
    expect(errorOf({ NODE_ENV: 'production' })).toMatch(/^DATABASE_URL /)
  })

  test('all invalid variables are named', () => {
    expect(errorOf({ PORT: 'x', HOST: '', STREAM_LIMIT: '-' })).toMatch(/^PORT .*; STREAM_LIMIT /)
  })
})

test('TRUSTED_PROXIES takes addresses, networks and names', () => {
  const list = '10.0.0.0/8, loopback,2001:db8::/32 , 192.0.2.1, uniquelocal'
  const TRUSTED_PROXIES = ['10.0.0.0/8', 'loopback', '2001:db8::/32', '192.0.2.1', 'uniquelocal']
  expect(loadConfig({ TRUSTED_PROXIES: list })).toMatchObject({ TRUSTED_PROXIES })
})

test('CORS_ORIGINS takes * or exact origins; unset, it allows localhost without DATABASE_URL and nothing with it', () => {
  const corsOrigins = ['https://shop.example', 'http://localhost:5173']
  const databaseUrl = { DATABASE_URL: 'postgresql://localhost/pets' }
  expect(loadConfig({ CORS_ORIGINS: corsOrigins.join(' , ') })).toMatchObject({ CORS_ORIGINS: corsOrigins })
  expect(loadConfig({ CORS_ORIGINS: '*' }).CORS_ORIGINS).toBe('*')
  expect(loadConfig({}).CORS_ORIGINS).toBe('localhost')
  expect(loadConfig(databaseUrl).CORS_ORIGINS).toBeUndefined()
})

test('DATABASE_URL_FILE is read without its line break; DATABASE_URL takes precedence', () => {
  const file = temporaryFile(`${secret}\n`)
  expect(loadConfig({ NODE_ENV: 'production', DATABASE_URL_FILE: file }).DATABASE_URL).toBe(secret)
  const other = 'postgresql://localhost/other'
  expect(loadConfig({ DATABASE_URL_FILE: file, DATABASE_URL: other }).DATABASE_URL).toBe(other)
  const DATABASE_URL_FILE = temporaryFile('topsecret, but no URL')
  expect(errorOf({ DATABASE_URL_FILE })).toBe(
    'The content of DATABASE_URL_FILE must be a URL that begins with postgresql://',
  )
})

describe('the program', { concurrent: true }, () => {
  test('--help prints every variable with its default and its description', async ({ sandbox }) => {
    const { code, stdout, stderr } = await sandbox.run('main.js', ['--help'], { PORT: 'wrong' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const [name, { description = '' }] of Object.entries(Environment.shape)) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name}( \\(.+\\))?$`, 'm'))
      expect(stdout).toContain(`\n      ${description.replaceAll('`', '')}\n`)
    }
    expect(stdout).toContain('\n  PORT (4000)\n')
  })

  test('reports invalid arguments before an invalid configuration', async ({ sandbox }) => {
    const { code, stdout, stderr } = await sandbox.run('main.js', ['a', 'b', 'c'], { PORT: 'wrong' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^The service takes no arguments except --help/)
  })
})
