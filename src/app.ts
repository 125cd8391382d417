import { parse as parseQuery } from 'node:querystring'
import express, { type Express, type RequestHandler } from 'express'
import { METRICS_SCOPE } from './auth/api-keys.ts'
import { type AuthenticateDependencies, createAuthenticate, requireScope } from './auth/authenticate.ts'
import type { Config } from './config/config.ts'
import { ApiError } from './errors.ts'
import type { AddToSchema } from './graphql/schema/builder.ts'
import { createSchema, printedSchema } from './graphql/schema/index.ts'
import type { GraphQLDependencies } from './graphql/context.ts'
import { addGraphQLRoute } from './graphql/route.ts'
import { GRAPHQL_TYPE } from './graphql/respond.ts'
import { allowOrigins, respondToPreflight } from './http/cors.ts'
import { lazyFor } from './lib/lazy.ts'
import { errorHandler, notFound } from './http/error-handler.ts'
import type { LoadShedder } from './http/load-shedding.ts'
import { addReadRoute } from './http/allowed-methods.ts'
import { createRouteOf, redirectTrailingSlash } from './http/route-templates.ts'
import { addAssetRoutes, forBrowsers, staticPage, staticText } from './http/static.ts'
import { beginRequest, callerOf, requireValidHead } from './http/request.ts'
import type { Operation, OperationDependencies, RestApi } from './rest/operation.ts'
import { addDocsRoutes, addRestRoutes, toRouteHeaders } from './rest/routes.ts'
import type { Resource } from './store/resource.ts'
import type { Metrics } from './telemetry/metrics.ts'

/** A resource, and what both APIs show of it. */
export interface ServedResource {
  resource: Resource
  rest: RestApi
  addToSchema: AddToSchema
}

interface AppDependencies extends AuthenticateDependencies, OperationDependencies, GraphQLDependencies {
  config: Config
  resources: ServedResource[]
  loadShedder: LoadShedder
  /** Why load balancers should route no requests to the service; undefined if they should. It rejects without a database. */
  health: { readinessProblem(): Promise<string | undefined> }
  metrics: Metrics
}

/** nginx's status for a client that closed the connection before the response. */
const CLIENT_CLOSED_REQUEST = 499

/** The routes beside those of the REST API. */
const ROUTES = '/ /graphql /schema.graphql /docs /openapi.json /assets/{file} /livez /readyz /metrics'.split(' ')

/** GraphiQL's editor, Monaco, needs `blob:` for its workers and `data:` for its icons and fonts, and adds styles. */
const GRAPHIQL_POLICY =
  "worker-src blob:; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:"

const graphiqlOff: RequestHandler = () => {
  const message = 'GraphiQL is off: this service accepts only trusted documents (TRUSTED_DOCUMENTS=only).'
  throw new ApiError('NOT_FOUND', message)
}

/** Creates the schema once for each list of resources: tests start hundreds of services. */
const schemaOf = lazyFor(createSchema)

/** The steps of each request and the routes, in the order in which a request passes them. */
export function createApp(dependencies: AppDependencies): Express {
  const { config, health, clientLimiter, loadShedder, observe, metrics, resources, trusted } = dependencies
  const schema = schemaOf(resources)
  const apis = resources.map(({ rest }) => rest)
  const operations = apis.flatMap((api) => api.operations)
  const authenticate = createAuthenticate(dependencies)
  const admit: RequestHandler = async (req, res, next) => {
    loadShedder.shed()
    await authenticate(req)
    clientLimiter?.consume(callerOf(req).clientId, 1, res)
    next()
  }

  // The app's paths are exact: they match neither another case nor a slash at the end.
  const app = express()
    .disable('x-powered-by')
    .disable('etag')
    .enable('strict routing')
    .enable('case sensitive routing')
  app.set('trust proxy', config.TRUSTED_PROXIES ?? false)
  // `maxKeys: 0`: by default, Node ignores parameters after 1,000, even invalid ones. A request line has at most 16 KiB.
  app.set('query parser', (query: string) => parseQuery(query, '&', '=', { maxKeys: 0 }))
  addCommonSteps(app, operations, dependencies)

  // The hot routes come first, because each layer of Express before a route costs time.
  app.use('/v1', admit)
  addRestRoutes(app, operations, config, dependencies)
  const graphiql = trusted?.mode === 'only' ? graphiqlOff : staticPage('graphql.html', GRAPHIQL_POLICY)
  app.get('/graphql', loadShedder.shedForLag, forBrowsers(graphiql, GRAPHQL_TYPE))
  addGraphQLRoute(app, admit, schema, dependencies)

  addReadRoute(app, '/livez', (_req, res) => void res.json({ status: 'alive' }))
  addReadRoute(app, '/readyz', async (_req, res) => {
    const problem = await health.readinessProblem()
    if (problem) throw new ApiError('UNAVAILABLE', problem)
    res.json({ status: 'ready' })
  })
  app.all('/metrics', async (req, _res, next) => {
    await authenticate(req)
    requireScope(req, METRICS_SCOPE)
    next()
  })
  addReadRoute(app, '/metrics', (_req, res) => metrics.send(res))

  app.use(loadShedder.shedForLag) // the operators' routes above are served even under overload
  app.get('/', forBrowsers(staticPage('home.html', "style-src 'self'; img-src data:")))
  addAssetRoutes(app)
  addDocsRoutes(app, apis, config)
  // Code generators read the schema here, without a key and without introspection.
  const schemaText = staticText('text/plain', () => printedSchema(schema))
  addReadRoute(app, '/schema.graphql', schemaText)
  return app.use(notFound, errorHandler(observe))
}

/** What is done for every request, before its route is known. */
function addCommonSteps(app: Express, operations: Operation[], { config, observe }: AppDependencies): void {
  const { CORS_ORIGINS, HANDLER_TIMEOUT_MS } = config
  const routeOf = createRouteOf([...operations.map(({ path }) => `/v1${path}`), ...ROUTES])
  const routeHeaders = toRouteHeaders(operations, config)

  app.use((req, res, next) => {
    beginRequest(req, res, HANDLER_TIMEOUT_MS)
    req.routeTemplate = routeOf(req.path)
    // `once`, because a response that waits behind another one gets it from ClientConnection and, since Node 24, from Node.
    res.once('close', () => {
      const status = res.headersSent ? res.statusCode : CLIENT_CLOSED_REQUEST
      observe({ type: 'request', req, res, status })
    })
    if (CORS_ORIGINS) allowOrigins(CORS_ORIGINS, req, res)
    const headers = routeHeaders.get(req.routeTemplate)
    if (headers) res.setHeaders(headers)
    requireValidHead(req)
    if (CORS_ORIGINS && respondToPreflight(req, res, routeOf)) return
    if (!redirectTrailingSlash(req, res, routeOf)) next()
  })
}
