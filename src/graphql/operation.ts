import { type DocumentNode, getOperationAST, GraphQLError, type GraphQLSchema, Kind } from 'graphql'
import { type OperationDefinitionNode, OperationTypeNode, type SelectionSetNode } from 'graphql'
import { requireScope } from '../auth/authenticate.ts'
import { ApiError } from '../errors.ts'
import { redactKeys } from '../telemetry/logger.ts'
import type { Plugin } from './context.ts'
import { requireTransport } from './subscription/transports.ts'

/** Clients choose the name of an operation, so its length is limited for logs and traces, in characters. */
const MAX_OPERATION_NAME_LENGTH = 100

/** Selects the operation, and requires its method, its scopes and a transport for its events: before the validation. */
export function useOperation(schema: GraphQLSchema): Plugin {
  return {
    onParse({ context }) {
      return ({ extendContext, result: document }) => {
        if (document instanceof Error) return
        const { params, req } = context
        const operation = getOperationAST(document, params.operationName)
        if (!operation) throw new GraphQLError('operationName: must name an operation of the document')
        req.operation = { type: operation.operation, name: operation.name && loggedName(operation.name.value) }
        requireMethod(req.method, operation)
        requireScope(req, ...scopesOf(schema, document, operation))
        extendContext({ operation })
        if (operation.operation === OperationTypeNode.SUBSCRIPTION) extendContext({ transport: requireTransport(req) })
      }
    },
  }
}

/** Keys are redacted before the name is cut: a part of one is not known as a key. */
function loggedName(name: string): string {
  return redactKeys(name).slice(0, MAX_OPERATION_NAME_LENGTH)
}

function requireMethod(method: string, { operation }: OperationDefinitionNode): void {
  if (method === 'POST' || operation === OperationTypeNode.QUERY) return
  const message = `${operation === OperationTypeNode.MUTATION ? 'Mutations' : 'Subscriptions'} must use POST.`
  throw new ApiError('METHOD_NOT_ALLOWED', message, { headers: { Allow: 'POST' } })
}

/**
 * The scopes of all root fields that an operation selects, also of those under `@skip`. Resolvers cannot check them: callers
 * share executions. The document may be invalid: fragments may be in a cycle, and a field that does not exist has no scope.
 */
function scopesOf(
  schema: GraphQLSchema,
  { definitions }: DocumentNode,
  operation: OperationDefinitionNode,
): Set<string> {
  const fields = schema.getRootType(operation.operation)?.getFields()
  const fragments = new Map<string, SelectionSetNode>()
  for (const definition of definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments.set(definition.name.value, definition.selectionSet)
  }
  const scopes = new Set<string>()
  const sets = new Set([operation.selectionSet]) // iterated with those that are added meanwhile
  for (const { selections } of sets) {
    for (const node of selections) {
      if (node.kind === Kind.INLINE_FRAGMENT) sets.add(node.selectionSet)
      else if (node.kind === Kind.FRAGMENT_SPREAD) {
        const set = fragments.get(node.name.value)
        if (set) sets.add(set)
      } else {
        const scope = fields?.[node.name.value]?.extensions.scope
        if (scope) scopes.add(scope)
      }
    }
  }
  return scopes
}
