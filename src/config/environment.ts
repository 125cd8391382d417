import ipaddr from 'ipaddr.js'
import { z } from 'zod'

const oneOf = <const T extends string>(...values: T[]) => z.enum(values, `must be one of ${values.join(', ')}`)

const integerOr = (defaultValue: number, min: number, max: number) =>
  z
    .string()
    .transform((text) => (/^\d{1,9}$/.test(text) ? Number(text) : NaN))
    .refine((n) => n >= min && n <= max, `must be a whole number from ${min} to ${max}`)
    .default(defaultValue)
const timeout = (defaultMs: number) => integerOr(defaultMs, 1, 600_000)

const text = z.string().optional()
const list = z.string().transform((text) => text.split(',').map((element) => element.trim()))

const isPostgresUrl = (url: string) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url)

/** With a bare `/`, `?` or `#` in the password, a part of it could be taken for the host, which is logged. */
const encodedUrl = z.string().refine((url) => !/^[^/]*\/\/[^/?#]*[/?#].*@/.test(url), {
  error: 'must have special characters of the password, such as / and #, percent-encoded (%2F, %23)',
  abort: true,
})

const databaseUrl = encodedUrl
  .refine((url) => !/^[^/]*\/\/[^/]*,[^/@]*(\/|$)/.test(url), {
    error: 'must name one host: after a failover, a proxy or a virtual address leads to the new primary',
    abort: true,
  })
  .refine(isPostgresUrl, 'must be a URL that begins with postgresql://')
  .optional()

const replicaUrls = list
  .pipe(z.array(encodedUrl.refine(isPostgresUrl, 'must be URLs that begin with postgresql://, separated by commas')))
  .optional()

/** A schema of a URL that has this form. */
const urlOf = (form: RegExp, message: string) =>
  z.string().refine((url) => form.test(url) && URL.canParse(url), message)

/** A schema of a base URL. It rejects credentials, because the OpenAPI document publishes the URL. */
const apiBaseUrl = (name: string) =>
  urlOf(/^https:\/\/[^\s?#@]+\/v1$/, 'must be a URL without credentials that begins with https:// and ends with /v1')
    .optional()
    .describe(
      `Base URL of the ${name} REST API; it ends in \`/v1\`. If it has a path prefix, \`Link\` and \`Location\` headers are relative.`,
    )

const PROXY_ERROR = 'must be addresses or networks, separated by commas'

/** What Express accepts as `trust proxy`. */
const proxy = z
  .union([z.enum(['loopback', 'linklocal', 'uniquelocal']), z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()], PROXY_ERROR)
  .refine((network) => !network.includes(':') || ipaddr.isValid(network.split('/')[0] ?? ''), PROXY_ERROR)
  .refine((text) => !text.endsWith('/0'), 'must not be all addresses (/0): any client could then choose its address')

const issuer = urlOf(
  /^(https:\/\/|http:\/\/(localhost|127(\.\d+){3}|\[::1\])(?=[:/]|$))[^\s?#@]*$/,
  'must be a URL that begins with https:// (on loopback also http://), without credentials, query and fragment',
).optional()

/** Whether the text is an origin as browsers send it: lower case, with scheme and host, and a port only if not the default. */
const isOrigin = (text: string) => /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text
const origins = list
  .refine((all) => all.join() === '*' || all.every((origin) => isOrigin(origin) && !origin.includes('*')), {
    error: 'must be * or exact origins such as https://shop.example, separated by commas',
  })
  .transform((all) => (all.join() === '*' ? ('*' as const) : all))
  .optional()

/**
 * The environment variables of the service and its command lines, except OpenTelemetry's `OTEL_*`. `--help` and
 * docs/configuration.md are generated from these descriptions.
 */
export const Environment = z.object({
  NODE_ENV: oneOf('development', 'test', 'production')
    .default('development')
    .describe('With `production` the service does not start without `DATABASE_URL`.'),
  PORT: integerOr(4000, 0, 65535).describe('TCP port to listen on. With 0 the system chooses a free port.'),
  HOST: z.string().default('0.0.0.0').describe('IP address or host name to listen on.'),
  DATABASE_URL: databaseUrl.describe(
    'URL of PostgreSQL 14 or newer. Unset: an embedded PostgreSQL stores its data in `DATA_DIR`.',
  ),
  DATABASE_URL_FILE: text.describe('File that contains `DATABASE_URL` (for container secrets).'),
  DATABASE_REPLICA_URLS: replicaUrls.describe(
    'URLs of standbys of the same PostgreSQL, separated by commas. They execute lists and lookups, whose results are never older than on the primary.',
  ),
  DATA_DIR: z.string().default('.data').describe('Directory of the embedded PostgreSQL and of the development key.'),
  DATABASE_POOL_SIZE: integerOr(10, 1, 500).describe('Maximum size of the connection pool for requests, per process.'),
  MIGRATE_ON_START: z
    .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive', error: 'must be one of true, false' })
    .optional()
    .describe('Apply pending migrations at startup. Unset: `true` without `DATABASE_URL`, `false` with it.'),
  PRODUCTION_URL: apiBaseUrl('production'),
  STAGING_URL: apiBaseUrl('staging'),
  CORS_ORIGINS: origins.describe(
    'Origins whose pages may call the service from a browser, such as `https://shop.example, https://admin.example`, or `*` for all. Unset: none; without `DATABASE_URL`, pages on localhost.',
  ),
  TRUSTED_DOCUMENTS: oneOf('off', 'allow', 'only')
    .default('off')
    .describe(
      'Trusted documents (persisted GraphQL operations). `allow` accepts them and any other document, `only` accepts nothing else.',
    ),
  TRUSTED_DOCUMENTS_FILE: text.describe('Manifest of the trusted documents, as graphql-codegen or Relay writes it.'),
  OIDC_ISSUER: issuer.describe(
    'Issuer of access tokens that are accepted in addition to API keys, exactly as it calls itself (OpenID Connect Discovery). Unset: none are accepted.',
  ),
  OIDC_AUDIENCE: text.describe(
    'Audience (`aud`) that access tokens must have: the name of this service at the issuer.',
  ),
  RATE_LIMIT_POINTS: integerOr(60_000, 0, 100_000_000).describe(
    'Rate limit of an API key, or of a subject of access tokens: points per minute and process. A REST request costs 1 point, a GraphQL operation its cost. 0 disables the limit.',
  ),
  TRUSTED_PROXIES: list
    .pipe(proxy.array())
    .optional()
    .describe(
      'IP addresses or networks of proxies trusted to set `X-Forwarded-For`, such as `10.0.0.0/8, loopback`; `uniquelocal` names all private networks. Unset: the header is ignored.',
    ),
  LOG_LEVEL: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'silent')
    .default('info')
    .describe('Minimum log level. Requests are logged at `info`.'),
  HANDLER_TIMEOUT_MS: integerOr(5_000, 100, 600_000).describe(
    'Time after which a request stops waiting for the database. It counts from the arrival of the headers, less the time in which the body arrives. Must be less than `REQUEST_TIMEOUT_MS`. The timeouts of the database are shares of it.',
  ),
  REQUEST_TIMEOUT_MS: timeout(15_000).describe('Maximum time in which a complete request must arrive, else 408.'),
  KEEP_ALIVE_TIMEOUT_MS: timeout(65_000).describe(
    'How long an idle connection stays open; must exceed how long the load balancer keeps an idle connection to the service.',
  ),
  STREAM_LIMIT: integerOr(10_000, 0, 1_000_000).describe(
    'Maximum number of open subscriptions of one process; further ones get 503. 0 disables the limit.',
  ),
  DRAIN_DELAY_MS: integerOr(0, 0, 600_000).describe(
    'Used twice: how long the service continues to accept connections after SIGTERM while `/readyz` returns 503, so that load balancers stop routing to it, and then how long it keeps idle connections.',
  ),
  DRAIN_TIMEOUT_MS: integerOr(10_000, 0, 600_000).describe(
    'How long requests in flight may take to complete after `DRAIN_DELAY_MS`, before their connections are closed.',
  ),
})

/** Variables of earlier versions. At startup, the service logs a warning for each of them that is still set. */
export const REMOVED_VARIABLES = `RATE_LIMIT_STORE WORKERS METRICS_PORT RATE_LIMIT_WINDOW_S RATE_LIMIT_WRONG_KEYS
  SHED_QUEUE_LENGTH SHED_QUEUE_MS SHED_DELAY_MS DATABASE_LOCK_TIMEOUT_MS DATABASE_STATEMENT_TIMEOUT_MS
  DATABASE_QUERY_TIMEOUT_MS DATABASE_CHECKOUT_TIMEOUT_MS HEADERS_TIMEOUT_MS STREAM_LIMIT_PER_KEY
  STREAM_WRITE_TIMEOUT_MS`.split(/\s+/)

/** Every variable with its default and description, for `--help`. */
export function describeEnvironment(): string {
  const variables = Object.entries(Environment.shape).map(([name, schema]) => {
    const { data } = schema.safeParse(undefined)
    return `  ${name}${data === undefined ? '' : ` (${data})`}\n      ${schema.description?.replaceAll('`', '')}`
  })
  return `Environment variables (default in parentheses):\n\n${variables.join('\n')}`
}
