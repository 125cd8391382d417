import type { Router } from 'express'
import { authorize } from '../auth/authenticate.ts'
import { jsonBody } from '../http/body.ts'
import { allowMethods, createRouter } from '../http/router.ts'
import { type Operation, type OperationDependencies, type PublicUrls, referenceBase } from './operation.ts'
import { createPet } from './operations/create-pet.ts'
import { getPet } from './operations/get-pet.ts'
import { listPets } from './operations/list-pets.ts'

/** The operations of the REST API. A fixed path stands before one with a parameter that it would match. */
export const OPERATIONS: Operation[] = [listPets, createPet, getPet]

/** The REST API (specification §4), below `/v1`. */
export function petsRouter(config: PublicUrls, dependencies: OperationDependencies): Router {
  const router = createRouter()
  for (const path of new Set(OPERATIONS.map((operation) => operation.path))) {
    const route = router.route(path.replace(/\{(\w+)\}/g, ':$1'))
    const operations = OPERATIONS.filter((operation) => operation.path === path)
    for (const { method, scope, document, createHandler } of operations) {
      const handler = createHandler(dependencies, referenceBase(config, path))
      route[method](authorize(scope), ...(document.requestBody ? [jsonBody] : []), handler)
    }
    route.all(allowMethods(...operations.flatMap(({ method }) => (method === 'get' ? ['GET', 'HEAD'] : ['POST']))))
  }
  return router
}
