import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { expect, inject, onTestFinished, test } from 'vitest'
import { RESOURCES } from '../../src/resources.ts'
import { createService, type Service, type ServiceOptions } from '../../src/service.ts'
import { type Config, loadConfig } from '../../src/config/config.ts'
import { type ApiKeys, hashKey, keyPrefix, mintKey } from '../../src/auth/api-keys.ts'
import { createLogger } from '../../src/telemetry/logger.ts'
import { SECRET } from './key-leaks.ts'
import { collectLog, recordKey, type Log } from './output.ts'
import { givenUrl, inDatabase } from './postgres.ts'
import { GENEROUS_LIMITS, GENEROUS_TIMEOUTS } from './timeouts.ts'
import { deviations } from '../rest/document.ts'

/** Options of the service and environment variables by their names; timeouts are generous by default. */
export interface TestServiceOptions extends Partial<Omit<ServiceOptions, 'config' | 'databaseUrl'>>, Partial<Config> {
  key?: string
}

/** A running service with its own database, and helpers that send requests to it. */
export interface TestService extends Service {
  databaseUrl: string
  base: string
  port: number
  key: string
  log: Log
  /** Sends a request with the key. Expects that every REST response conforms to the OpenAPI document. */
  send(path: string, init?: RequestInit): Promise<Response>
  /** POST /v1/pets of an animal, of which only what matters is given. Expects 201. @returns its id */
  create(pet?: { name?: string; categoryId?: number; status?: string | undefined }): Promise<number>
  /** POST /v1/pets. Text and bytes are sent unchanged, other bodies as JSON. */
  post(body: unknown, headers?: Record<string, string>): Promise<Response>
  /** POST /graphql, as `post`. */
  postGraphQL(body: unknown, headers?: Record<string, string>): Promise<Response>
  /** POST /graphql. @returns the body of the response */
  graphql(query: string, variables?: object): Promise<GraphQLResponseBody>
  metrics(): Promise<string>
  /** The value of a metric without labels, or with all of these. */
  metric(series: string): Promise<number>
  /** Another instance with the same key, on the same database unless DATABASE_URL is another way to it. */
  startPeer(options?: TestServiceOptions): Promise<TestService>
}

export interface ErrorExtensions {
  code: string
  status: number
  /** With INVALID_ARGUMENT: the wrong arguments and their members. */
  fields?: { path: string[]; message: string }[]
}

export interface GraphQLResponseBody {
  data?: Record<string, never> | null // each test knows what it selected
  errors?: { message: string; path?: (string | number)[]; extensions: ErrorExtensions }[]
}

/** A test with its own service and its own database. */
export const testWithService = test.extend<{ service: TestService }>({ service: serviceFixture() })

/** A test with a service and a database that all tests of the file share, so it must tolerate their animals and keys. */
export const testWithSharedService = test.extend<{ service: TestService }>({
  service: [serviceFixture(), { scope: 'file' }],
})

/** The fixture `service`. Vitest requires a destructuring pattern as first parameter. */
export function serviceFixture(
  template: 'templateUrl' | 'ordersTemplateUrl' = 'templateUrl',
  options: TestServiceOptions = {},
) {
  return async ({}, use: (service: TestService) => Promise<void>): Promise<void> => {
    const stops: (() => Promise<void>)[] = []
    const databaseUrl = await cloneDatabase(inject(template))
    await use(await startService(databaseUrl, options, (stop) => stops.push(stop)))
    await Promise.all(stops.map((stop) => stop()))
    await dropDatabase(databaseUrl)
  }
}

/** @returns the URL of a new, empty database with the current schema */
export async function cloneDatabase(template = inject('templateUrl')): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`
  const strategy = givenUrl ? '' : 'STRATEGY file_copy' // the faster one in memory, since PostgreSQL 15
  await admin().query(`CREATE DATABASE ${name} TEMPLATE ${new URL(template).pathname.slice(1)} ${strategy}`)
  const url = new URL(template)
  url.pathname = name
  return url.href
}

export const databaseOf = ({ databaseUrl }: Pick<TestService, 'databaseUrl'>) => new URL(databaseUrl).pathname.slice(1)

export async function dropDatabase(url: string): Promise<void> {
  await admin().query(`DROP DATABASE ${databaseOf({ databaseUrl: url })} WITH (FORCE)`)
}

let pool: pg.Pool | undefined

/** One connection per worker creates and drops its databases, since a new connection takes as long as a clone. */
function admin(): pg.Pool {
  const connectionString = inject('serverUrl')
  return (pool ??= new pg.Pool({ connectionString, max: 1 }).on('error', () => {}))
}

/** Runs SQL on the tests' server. The default database is no template of the tests, so connections cannot block clones. */
export const withClient = <T>(work: (client: pg.Client) => Promise<T>, url = inject('serverUrl')): Promise<T> =>
  inDatabase(url, work)

export const bearer = (key: string) => ({ Authorization: `Bearer ${key}` })

/** @param defer registers what stops the service and its peers, by default after the test */
export async function startService(
  databaseUrl: string,
  options: TestServiceOptions = {},
  defer: (stop: () => Promise<void>) => void = onTestFinished,
): Promise<TestService> {
  const log = collectLog()
  const created = createService({
    resources: RESOURCES,
    log: createLogger('info', log),
    ...options, // the service and its configuration take their own, by name
    config: { ...loadConfig({ ...GENEROUS_TIMEOUTS, DATABASE_URL: databaseUrl }), DATABASE_POOL_SIZE: 4, ...options },
    databaseUrl,
    limits: { ...GENEROUS_LIMITS, ...options.limits },
  })
  const keys = recordNewKeys(created.keys)
  const port = await created.start({ port: 0, host: '127.0.0.1' })
  defer(() => created.stop(0, 0))
  const address = `http://127.0.0.1:${port}`
  const key = options.key ?? (await storeKey(created))

  const send: TestService['send'] = async (path, init = {}) => {
    const response = await fetch(address + path, { ...init, headers: { ...bearer(key), ...init.headers } })
    const body = await response.clone().text()
    expect(deviations(init.method ?? 'GET', path, response, body), 'deviations from the OpenAPI document').toEqual([])
    if (!response.ok || path === '/metrics') expect(body).not.toMatch(SECRET)
    return response
  }
  const postTo =
    (path: string): TestService['post'] =>
    (body, headers = {}) => {
      const isRaw = typeof body === 'string' || body instanceof Uint8Array
      const sent = isRaw ? (body as BodyInit) : JSON.stringify(body)
      return send(path, { method: 'POST', headers: { 'Content-Type': 'application/json', ...headers }, body: sent })
    }
  const post = postTo('/v1/pets')
  const metrics = async () => (await send('/metrics')).text()
  return {
    ...created,
    keys,
    databaseUrl,
    base: address,
    port,
    key,
    log,
    send,
    post,
    async create({ name = 'Rex', categoryId = 1, status } = {}) {
      const response = await post({ name, categoryId, status })
      expect(response.status).toBe(201)
      return ((await response.json()) as { id: number }).id
    },
    postGraphQL: postTo('/graphql'),
    graphql: async (query, variables) => (await postTo('/graphql')({ query, variables })).json(),
    metrics,
    async metric(series) {
      const line = (await metrics()).split('\n').find((one) => one.startsWith(`${series} `))
      return Number(line?.slice(series.length))
    },
    startPeer: (overrides = {}) =>
      startService(overrides.DATABASE_URL ?? databaseUrl, { ...options, key, ...overrides }, defer),
  }
}

/** Stores a key of all scopes without Prisma, whose first query takes longer than all else of the start. */
async function storeKey({ database, keys }: Service): Promise<string> {
  const key = mintKey()
  const insert = `INSERT INTO "public"."api_key" (name, prefix, hash, scopes) VALUES ('test', $1, $2, $3)`
  await database.pool.query(insert, [keyPrefix(key), Buffer.from(hashKey(key), 'base64'), keys.scopes])
  return recordKey(key)
}

/** Records every new key, so that key-leaks.ts can search for it at the end of the run. */
function recordNewKeys(keys: ApiKeys): ApiKeys {
  return {
    ...keys,
    issue: async (...options) => recordKey(await keys.issue(...options)),
    async rotate(...options) {
      const key = await keys.rotate(...options)
      return key && recordKey(key)
    },
  }
}
