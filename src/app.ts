import { parse as parseQuery } from 'node:querystring'
import express, { type Express } from 'express'
import type { Logger } from 'pino'
import { authenticate, type AuthenticateDependencies, authorize } from './auth/authenticate.ts'
import { rateLimit, rateLimitFailures, requireQuota } from './auth/rate-limit.ts'
import type { RateLimiter } from './auth/rate-limiter.ts'
import type { Config } from './config.ts'
import { graphqlErrorHandler } from './graphql/errors.ts'
import { graphiql } from './graphql/graphiql/route.ts'
import { type GraphQLRouterDependencies, graphqlRouter, schemaRouter } from './graphql/route.ts'
import { allowOrigins, respondToPreflight } from './http/cors.ts'
import { homePage } from './pages/route.ts'
import { errorHandler, notFound } from './http/error-handler.ts'
import { type Health, healthRouter } from './http/health.ts'
import { validateRequestHead } from './http/host.ts'
import type { LoadShedder } from './http/load-shedding.ts'
import { assetsRouter } from './http/static.ts'
import { redirectTrailingSlash } from './http/trailing-slash.ts'
import { beginRequest } from './http/request.ts'
import { createRouteOf } from './http/routes.ts'
import { traceRequests } from './http/tracing.ts'
import { docsRouter } from './rest/docs/route.ts'
import type { OperationDependencies } from './rest/operation.ts'
import { deprecateGetPet } from './rest/operations/get-pet.ts'
import { OPERATIONS, petsRouter } from './rest/pets.ts'
import { observeRequests } from './telemetry/access-log.ts'
import type { Metrics } from './telemetry/metrics.ts'

interface AppDependencies extends AuthenticateDependencies, OperationDependencies, GraphQLRouterDependencies {
  config: Config
  keyLimiter: RateLimiter | undefined
  loadShedder: LoadShedder
  health: Health
  metrics: Metrics
  log: Logger
}

const ROUTES = [
  ...OPERATIONS.map(({ path }) => `/v1${path}`),
  ...['/', '/graphql', '/schema.graphql', '/docs', '/openapi.json', '/assets/{file}'],
  ...['/livez', '/readyz', '/metrics'],
]

/** The middleware chain and the routes, in the order in which a request passes them. */
export function createApp(deps: AppDependencies): Express {
  const { config, health, keyLimiter, loadShedder, log, logError, metrics, tracer, trusted } = deps
  const routeOf = createRouteOf(ROUTES)
  const authenticated = authenticate(deps)
  const protect = [loadShedder.shed, authenticated]

  const app = express()
  app.disable('x-powered-by').disable('etag').enable('strict routing').enable('case sensitive routing')
  app.set('trust proxy', config.TRUSTED_PROXIES ?? false)
  // Without Node's limit of 1,000 parameters, which would hide an invalid one. The request line is limited to 16 KiB.
  app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }))

  app.use(beginRequest(config.HANDLER_TIMEOUT_MS))
  if (config.CORS_ORIGINS) app.use(allowOrigins(config.CORS_ORIGINS))
  if (tracer) app.use(traceRequests(tracer, routeOf))
  app.use(observeRequests(log, metrics, routeOf))
  app.use(deprecateGetPet(config, routeOf))
  app.use(validateRequestHead)
  if (config.CORS_ORIGINS) app.use(respondToPreflight(routeOf))
  app.use(redirectTrailingSlash)

  // Hot routes first: each middleware layer in front costs time.
  app.use('/v1', protect, rateLimit(keyLimiter), petsRouter(config, deps))
  app.get('/graphql', loadShedder.shedForLag, graphiql(trusted.mode))
  app.use('/graphql', protect, requireQuota(keyLimiter), graphqlRouter(deps))
  app.use('/graphql', rateLimitFailures(keyLimiter), graphqlErrorHandler(logError))

  app.use(healthRouter(health))
  app.use(['/docs', '/openapi.json', '/schema.graphql', '/assets'], loadShedder.shedForLag)
  app.use(homePage(), assetsRouter(), docsRouter(config), schemaRouter())
  if (config.METRICS_PORT === undefined) {
    app.use('/metrics', authenticated, authorize('metrics:read'))
    app.use(metrics.router())
  }

  app.use(notFound)
  return app.use(errorHandler(logError))
}

/** The app on `METRICS_PORT`, for an internal network: no key. */
export function createMetricsApp({
  config,
  logError,
  metrics,
}: Pick<AppDependencies, 'config' | 'logError' | 'metrics'>) {
  const app = express().disable('x-powered-by').disable('etag')
  app.use(beginRequest(config.HANDLER_TIMEOUT_MS), validateRequestHead, metrics.router(), notFound)
  return app.use(errorHandler(logError))
}
