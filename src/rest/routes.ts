import type { Express } from 'express'
import { requireScope } from '../auth/authenticate.ts'
import { parseBody, receiveBody } from '../http/body.ts'
import { addReadRoute, rejectOtherMethods } from '../http/allowed-methods.ts'
import { staticPage, staticText } from '../http/static.ts'
import { openapi } from './openapi/document.ts'
import type { Operation, OperationDependencies, PublicConfig, RestApi } from './operation.ts'

/** @returns the headers that all responses of a route have, by route */
export function toRouteHeaders(operations: Operation[], config: PublicConfig): Map<string, Map<string, string>> {
  const routes = new Map<string, Map<string, string>>()
  for (const { path, toHeaders } of operations) {
    if (toHeaders) routes.set(`/v1${path}`, new Map(Object.entries(toHeaders(referenceBase(config, path)))))
  }
  return routes
}

/** The routes of the REST API (specification §4), below `/v1`. */
export function addRestRoutes(
  app: Express,
  operations: Operation[],
  config: PublicConfig,
  dependencies: OperationDependencies,
) {
  for (const path of new Set(operations.map((operation) => operation.path))) {
    const route = app.route(`/v1${path.replace(/\{(\w+)\}/g, ':$1')}`)
    const base = referenceBase(config, path)
    const operationsOfPath = operations.filter((operation) => operation.path === path)
    for (const { method, scope, document, createHandler } of operationsOfPath) {
      const handler = createHandler(dependencies, base)
      route[method](async (req, res) => {
        requireScope(req, scope)
        let bytes = document.requestBody && (await receiveBody(req, res, dependencies.keptBytes))
        const work = async () => {
          if (bytes) parseBody(req, bytes)
          bytes = undefined // a request that waits for the database does not keep them
          await handler(req, res)
        }
        await dependencies.turns.inTurn(req, res, work, bytes?.length)
      })
    }
    route.all(
      rejectOtherMethods(...operationsOfPath.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : ['POST']))),
    )
  }
}

/** `/openapi.json`, and `/docs`: the API reference with Swagger UI. The page loads nothing from other origins. */
export function addDocsRoutes(app: Express, apis: RestApi[], config: PublicConfig): void {
  const document = () => JSON.stringify(openapi(apis, config), null, 2)
  addReadRoute(app, '/openapi.json', staticText('application/json', document))
  // The icons in Swagger UI's style sheet need `data:`.
  addReadRoute(app, '/docs', staticPage('docs.html', "style-src 'self'; img-src 'self' data:"))
}

/**
 * How a reference in `Link` or `Location` to a path below `/v1` begins. A proxy may strip an environment's path prefix
 * from requests; only a reference that is relative to the URL of the request (RFC 3986 §5) leads back through the proxy.
 * @param path of the request, below `/v1`
 */
function referenceBase({ PRODUCTION_URL, STAGING_URL }: PublicConfig, path: string): string {
  const prefixed = [PRODUCTION_URL, STAGING_URL].some((url) => url !== undefined && new URL(url).pathname !== '/v1')
  return prefixed ? '../'.repeat(path.split('/').length - 2) : '/v1/'
}
