import { type DocumentNode, getOperationAST, GraphQLError, type GraphQLSchema, Kind } from 'graphql'
import { type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import { requireScope } from '../../auth/authenticate.ts'
import { ApiError } from '../../errors.ts'
import { lazyFor } from '../../lazy.ts'
import { toLoggedName } from '../../telemetry/logger.ts'
import type { Plugin } from '../context.ts'
import { fragmentsOf } from '../fields.ts'
import { requireTransport } from '../subscription/transports.ts'

/** Before the validation, selects the operation, and checks its method, its scopes and the transport of a subscription. */
export function useOperation(schema: GraphQLSchema): Plugin {
  const describe = lazyFor((document: DocumentNode) =>
    lazyFor((operation: OperationDefinitionNode) => ({
      logged: { type: operation.operation, name: operation.name && toLoggedName(operation.name.value) },
      scopes: scopesOf(schema, document, operation),
    })),
  )
  return {
    onParse({ context }) {
      return ({ extendContext, result: document }) => {
        if (document instanceof Error) return
        const { params, req } = context
        const operation = getOperationAST(document, params.operationName)
        if (!operation) throw new GraphQLError('operationName: must name an operation of the document')
        const { logged, scopes } = describe(document)(operation)
        req.operation = { ...logged } // a copy, because a stream changes it
        requireMethod(req.method, operation)
        requireScope(req, ...scopes)
        if (operation.operation === OperationTypeNode.SUBSCRIPTION) requireTransport(req)
        extendContext({ operation })
      }
    },
  }
}

function requireMethod(method: string, { operation }: OperationDefinitionNode): void {
  if (method === 'POST' || operation === OperationTypeNode.QUERY) return
  const message = `${operation === OperationTypeNode.MUTATION ? 'Mutations' : 'Subscriptions'} must use POST.`
  throw new ApiError('METHOD_NOT_ALLOWED', message, { headers: { Allow: 'POST' } })
}

/**
 * The scopes of all root fields that an operation selects, even under `@skip`. Resolvers cannot check scopes, because
 * callers share executions. The document is not validated yet, so its fragments may be in a cycle.
 */
function scopesOf(schema: GraphQLSchema, document: DocumentNode, operation: OperationDefinitionNode): Set<string> {
  const fields = schema.getRootType(operation.operation)?.getFields()
  const fragments = fragmentsOf(document)
  const scopes = new Set<string>()
  const sets = new Set([operation.selectionSet]) // the loop also visits the sets that it adds
  for (const { selections } of sets) {
    for (const node of selections) {
      if (node.kind === Kind.FIELD) {
        const scope = fields?.[node.name.value]?.extensions.scope
        if (scope) scopes.add(scope)
      } else {
        const fragment = node.kind === Kind.FRAGMENT_SPREAD ? fragments[node.name.value] : node
        if (fragment) sets.add(fragment.selectionSet)
      }
    }
  }
  return scopes
}
