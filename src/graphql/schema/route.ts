import { Router } from 'express'
import { allowMethods } from '../../http/methods.ts'
import { staticText } from '../../http/static.ts'
import { printedSchema } from './index.ts'

/** `/schema.graphql`: the schema for code generators, which need no key and no introspection. */
export function schemaRouter(): Router {
  const router = Router({ strict: true, caseSensitive: true })
  router
    .route('/schema.graphql')
    .get(staticText({ 'Content-Type': 'text/plain; charset=utf-8' }, printedSchema()))
    .all(allowMethods('GET', 'HEAD'))
  return router
}
