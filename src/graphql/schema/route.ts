import type { Router } from 'express'
import { allowMethods, createRouter } from '../../http/router.ts'
import { staticText } from '../../http/static.ts'
import { printedSchema } from './index.ts'

/** `/schema.graphql`: the schema for code generators, which need no key and no introspection. */
export function schemaRouter(): Router {
  const router = createRouter()
  router
    .route('/schema.graphql')
    .get(staticText({ 'Content-Type': 'text/plain; charset=utf-8' }, printedSchema()))
    .all(allowMethods('GET', 'HEAD'))
  return router
}
