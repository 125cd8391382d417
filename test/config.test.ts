import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect } from 'vitest'
import { ConfigError, Environment, loadConfig } from '../src/config.ts'
import { cloneDatabase, dropDatabase } from './support/harness.ts'
import { occupyPort, testWithProcess as test } from './support/processes.ts'

const secret = 'postgresql://pets:topsecret@db.internal:5432/pets'

/** What is wrong with an environment, in one line. */
function complaint(env: Record<string, string>): string {
  try {
    loadConfig(env)
  } catch (error) {
    if (error instanceof ConfigError && !error.message.includes('\n')) return error.message
    throw error
  }
  throw new Error('nothing was wrong')
}

describe('the timeouts nest', () => {
  test('by default each layer gives up before the one around it', () => {
    const { timeouts } = loadConfig({})
    expect(timeouts.lockMs).toBeLessThan(timeouts.statementMs)
    expect(timeouts.statementMs).toBeLessThan(timeouts.queryMs)
    expect(timeouts.checkoutMs + timeouts.queryMs).toBeLessThanOrEqual(timeouts.handlerMs)
    expect(timeouts.handlerMs).toBeLessThan(timeouts.requestMs)
    expect(timeouts.headersMs).toBeLessThanOrEqual(timeouts.requestMs)
    expect(timeouts.keepAliveMs).toBeGreaterThan(60_000) // what balancers keep an idle connection for
  })

  test.for([
    ['DATABASE_STATEMENT_TIMEOUT_MS', { DATABASE_LOCK_TIMEOUT_MS: '2000' }],
    ['DATABASE_STATEMENT_TIMEOUT_MS', { DATABASE_STATEMENT_TIMEOUT_MS: '1000' }],
    ['DATABASE_QUERY_TIMEOUT_MS', { DATABASE_STATEMENT_TIMEOUT_MS: '3000' }],
    ['HANDLER_TIMEOUT_MS', { DATABASE_CHECKOUT_TIMEOUT_MS: '2001' }],
    ['HANDLER_TIMEOUT_MS', { DATABASE_QUERY_TIMEOUT_MS: '4001' }],
    ['REQUEST_TIMEOUT_MS', { HANDLER_TIMEOUT_MS: '15000' }],
    ['REQUEST_TIMEOUT_MS', { HEADERS_TIMEOUT_MS: '15001' }],
  ] as const)('%s is named when %j breaks the order', ([variable, env]) => {
    expect(complaint(env)).toMatch(new RegExp(`^${variable} must be (at least|more than) .*, which is \\d+$`))
  })

  test('at the edge of the order all is well', () => {
    expect(() => loadConfig({ DATABASE_CHECKOUT_TIMEOUT_MS: '2000', HEADERS_TIMEOUT_MS: '15000' })).not.toThrow()
  })
})

describe('a wrong value is told in one line that names its variable', () => {
  test.for([
    ['RATE_LIMIT_POINTS', '-1'],
    ['RATE_LIMIT_POINTS', '1e3'],
    ['RATE_LIMIT_WINDOW_S', '0'],
    ['RATE_LIMIT_STORE', 'redis'],
    ['TRUSTED_PROXIES', 'everybody'],
    ['TRUSTED_PROXIES', '10.0.0.0/33'],
    ['TRUSTED_PROXIES', '10.0.0.0/8, 300.1.1.1'],
    ['TRUSTED_PROXIES', 'true'],
    ['SHED_QUEUE_LENGTH', 'many'],
    ['METRICS_PORT', '65536'],
    ['METRICS_PORT', '0'],
    ['LOG_LEVEL', 'verbose'],
    ['DATABASE_URL', 'mysql://pets:topsecret@localhost/pets'],
    ['DATABASE_URL_FILE', '/nowhere/at/all'],
    ['DATABASE_URL_FILE', '/'],
    ['PRODUCTION_URL', 'https://[/v1'],
    ['STAGING_URL', 'https://pets.example/v2'],
  ] as const)('%s=%s', ([variable, value]) => {
    const message = complaint({ [variable]: value })
    expect(message).toMatch(new RegExp(`^${variable} `))
    expect(message).not.toContain('topsecret')
  })

  test('DATABASE_URL is wanted in production', () => {
    expect(complaint({ NODE_ENV: 'production' })).toMatch(/^DATABASE_URL /)
  })

  test('several at once are all named', () => {
    expect(complaint({ PORT: 'x', HOST: '', SHED_DELAY_MS: '-' })).toMatch(/^PORT .*; SHED_DELAY_MS /)
  })
})

test('proxies are addresses, networks and names, in any mixture', () => {
  const list = '10.0.0.0/8, loopback,2001:db8::/32 , 192.0.2.1, uniquelocal'
  const trustedProxies = ['10.0.0.0/8', 'loopback', '2001:db8::/32', '192.0.2.1', 'uniquelocal']
  expect(loadConfig({ TRUSTED_PROXIES: list })).toMatchObject({ trustedProxies })
})

describe('a secret by file', () => {
  test('is read without its line break; the variable itself goes before it, in production, too', async ({
    onTestFinished,
  }) => {
    const dir = await mkdtemp(join(tmpdir(), 'pet-store-secret-'))
    onTestFinished(() => rm(dir, { recursive: true }))
    const file = join(dir, 'url')
    await writeFile(file, `${secret}\n`)
    expect(loadConfig({ NODE_ENV: 'production', DATABASE_URL_FILE: file }).databaseUrl).toBe(secret)
    const other = 'postgresql://localhost/other'
    expect(loadConfig({ DATABASE_URL_FILE: file, DATABASE_URL: other }).databaseUrl).toBe(other)
    await writeFile(file, 'topsecret, but no URL')
    expect(complaint({ DATABASE_URL_FILE: file })).toBe('DATABASE_URL must be a URL that begins with postgresql://')
  })
})

describe('the program', { concurrent: true }, () => {
  test('tells every variable with its default and its sentence with --help, and does nothing else', async ({
    sandbox,
  }) => {
    const { code, stdout, stderr } = await sandbox.run('main.js', ['--help'], { PORT: 'wrong' })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const [name, { description = '' }] of Object.entries(Environment.shape)) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name}( \\(.+\\))?$`, 'm'))
      expect(stdout).toContain(`\n      ${description.replaceAll('`', '')}\n`)
    }
    expect(stdout).toContain('\n  PORT (4000)\n')
  })

  test('says in one line that the file of its secret cannot be read', async ({ sandbox }) => {
    const { code, stdout, stderr } = await sandbox.run('main.js', [], { DATABASE_URL_FILE: '/nowhere/url' })
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toMatch(/^Configuration: DATABASE_URL_FILE cannot be read: [^\n]*\n$/)
  })

  test('and its command lines work on the database that a file names', async ({ sandbox, onTestFinished }) => {
    const url = await cloneDatabase()
    onTestFinished(() => dropDatabase(url))
    const env = { DATABASE_URL_FILE: join(sandbox.dataDir, 'url') }
    await writeFile(env.DATABASE_URL_FILE, url)
    const key = (await sandbox.run('cli/keys.js', ['create', '--name', 'web'], env)).stdout.trim()
    const { stdout } = await sandbox.run('cli/keys.js', ['list'], { DATABASE_URL: url })
    expect(stdout).toContain(key.slice(0, 13))
  })

  test('names METRICS_PORT when that is the port that is taken', async ({ sandbox, emptyDatabase, onTestFinished }) => {
    const { server, port } = await occupyPort()
    onTestFinished(() => void server.close())
    const env = { METRICS_PORT: String(port), DATABASE_URL: emptyDatabase }
    const { code, stderr } = await sandbox.run('main.js', [], env)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^[^\n]+\n$/) })
    expect(stderr).toMatch(new RegExp(`^METRICS_PORT ${port}, HOST 127.0.0.1: the port is taken`))
  })
})
