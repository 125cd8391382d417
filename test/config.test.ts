import { describe, expect } from 'vitest'
import { loadConfig } from '../src/config/config.ts'
import { Environment } from '../src/config/environment.ts'
import { limitsOf } from '../src/config/limits.ts'
import { OperatorError } from '../src/lib/operator-error.ts'
import { temporaryFile } from './support/files.ts'
import { testWithProcess as test } from './support/processes.ts'

/** @returns the one line that rejects an environment, which has no password */
function errorOf(env: Record<string, string>): string {
  try {
    loadConfig(env)
  } catch (error) {
    expect(error).toBeInstanceOf(OperatorError)
    const { message } = error as OperatorError
    expect(message).not.toMatch(/\n|topsecret/)
    return message
  }
  throw new Error('the environment is valid')
}

test('the timeouts of the database are shares of the least HANDLER_TIMEOUT_MS, none of which is 0', () => {
  const { lockTimeoutMs, statementTimeoutMs, queryTimeoutMs, checkoutTimeoutMs } = limitsOf({ HANDLER_TIMEOUT_MS: 100 })
  expect([lockTimeoutMs, statementTimeoutMs, queryTimeoutMs, checkoutTimeoutMs]).toEqual([20, 40, 60, 20])
})

test('a DATABASE_URL may have a comma in its password', () => {
  const url = 'postgresql://user:sec,ret@one:5432/pets'
  expect(loadConfig({ DATABASE_URL: url })).toMatchObject({ DATABASE_URL: url })
})

describe('an invalid value is reported in one line that names its variable, without a password', () => {
  const valid = { OIDC_ISSUER: 'http://localhost:3000', OIDC_AUDIENCE: 'pets' }
  /** Of each a part would be taken for the host. */
  const unencoded = ['12/topsecret', 'p@topsecret#w', '12?topsecret'].map(
    (password) => `postgresql://pets:${password}@127.0.0.1:5432/pets`,
  )
  const invalid: Record<string, string[]> = {
    NODE_ENV: ['prod'],
    OIDC_ISSUER: [
      ...['issuer.example', 'http://issuer.example', 'https://user@issuer.example', 'http://localhost.example'],
      ...['https://issuer.example?a=b', 'https://issuer.example#a', 'http://127.0.0.1.example', ''],
    ],
    OIDC_AUDIENCE: [''], // without the issuer's
    RATE_LIMIT_POINTS: ['-1', '1e3'],
    TRUSTED_PROXIES: [
      ...['everybody', '10.0.0.0/33', '10.0.0.0/8, 300.1.1.1', 'true', '0.0.0.0/0', '10.0.0.0/8, ::/0'],
      '64:ff9b::10.0.0.1',
    ],
    CORS_ORIGINS: [
      ...['null', 'shop.example', 'https://shop.example/', 'https://shop.example/path', 'https://Shop.example'],
      ...['https://shop.example:443', 'https://*.shop.example', '*, https://shop.example', 'https://shop.example,'],
      ...['https://shop.example, null', 'https://user@shop.example'],
    ],
    TRUSTED_DOCUMENTS: ['only'], // without a manifest
    STREAM_LIMIT: ['many'],
    LOG_LEVEL: ['verbose'],
    HANDLER_TIMEOUT_MS: ['99', '15000'], // the default of REQUEST_TIMEOUT_MS
    DATABASE_URL: ['mysql://pets:topsecret@localhost/pets', 'postgresql://pets:topsecret@one,two/pets', ...unencoded],
    DATABASE_REPLICA_URLS: unencoded,
    DATABASE_URL_FILE: ['/nowhere/at/all', '/'],
    PRODUCTION_URL: ['https://[/v1', 'https://user:topsecret@pets.example/v1'],
    STAGING_URL: ['https://pets.example/v2'],
  }
  test.for(Object.entries(invalid).flatMap(([variable, values]) => values.map((value) => [variable, value] as const)))(
    '%s=%s',
    ([variable, value]) => {
      expect(errorOf({ ...valid, [variable]: value })).toMatch(new RegExp(`\\b${variable}\\b`))
    },
  )

  test('the others of that environment are valid', () => {
    expect(loadConfig(valid)).toMatchObject(valid)
  })

  test('production requires DATABASE_URL', () => {
    expect(errorOf({ NODE_ENV: 'production' })).toMatch(/\bDATABASE_URL\b/)
  })

  test('all invalid variables are named', () => {
    expect(errorOf({ PORT: 'x', HOST: '', STREAM_LIMIT: '-' })).toMatch(/PORT .*; STREAM_LIMIT /)
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
  const url = 'postgresql://pets:topsecret@db.internal:5432/pets'
  const file = temporaryFile(`${url}\n`)
  expect(loadConfig({ NODE_ENV: 'production', DATABASE_URL_FILE: file }).DATABASE_URL).toBe(url)
  const other = 'postgresql://localhost/other'
  expect(loadConfig({ DATABASE_URL_FILE: file, DATABASE_URL: other }).DATABASE_URL).toBe(other)
  expect(errorOf({ DATABASE_URL_FILE: temporaryFile('topsecret, but no URL') })).toContain('DATABASE_URL_FILE')
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

  test('ends with exit code 1 and one line for an invalid value', async ({ sandbox }) => {
    const { code, stdout, stderr } = await sandbox.run('main.js', [], { PORT: 'wrong' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^[^\n]*PORT[^\n]*\n$/)
  })
})
