import type { Express } from 'express'
import { requireScope } from '../auth/authenticate.ts'
import { parseBody, receiveBody } from '../http/body.ts'
import { allowMethods } from '../http/router.ts'
import { type Operation, type OperationDependencies, type PublicUrls, referenceBase } from './operation.ts'
import { createPet } from './operations/create-pet.ts'
import { getPet } from './operations/get-pet.ts'
import { listPets } from './operations/list-pets.ts'

/** The operations of the REST API. A fixed path stands before one with a parameter that it would match. */
export const OPERATIONS: Operation[] = [listPets, createPet, getPet]

/** By route, the headers of all of its responses. */
export function toRouteHeaders(config: PublicUrls): Map<string, Map<string, string>> {
  const routes = new Map<string, Map<string, string>>()
  for (const { path, toHeaders } of OPERATIONS) {
    if (toHeaders) routes.set(`/v1${path}`, new Map(Object.entries(toHeaders(referenceBase(config, path)))))
  }
  return routes
}

/** The routes of the REST API (specification §4), below `/v1`. */
export function addPetRoutes(app: Express, config: PublicUrls, dependencies: OperationDependencies): void {
  for (const path of new Set(OPERATIONS.map((operation) => operation.path))) {
    const route = app.route(`/v1${path.replace(/\{(\w+)\}/g, ':$1')}`)
    const operations = OPERATIONS.filter((operation) => operation.path === path)
    for (const { method, scope, document, createHandler } of operations) {
      const handler = createHandler(dependencies, referenceBase(config, path))
      route[method](async (req, res) => {
        requireScope(req, scope)
        if (!document.requestBody) return handler(req, res)
        const bytes = await receiveBody(req, res, dependencies.keptBytes)
        const work = async () => {
          parseBody(req, bytes)
          await handler(req, res)
        }
        await dependencies.turns.run(req, res, work, bytes.length)
      })
    }
    route.all(allowMethods(...operations.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : ['POST']))))
  }
}
