import { getOperationAST, GraphQLError, type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import { requireScope } from '../../auth/authenticate.ts'
import { ApiError } from '../../errors.ts'
import { toLoggedName } from '../../telemetry/logger.ts'
import type { Analyze } from '../analysis.ts'
import type { Plugin } from '../context.ts'
import { requireTransport } from '../subscription/transports.ts'

/** Before the validation, selects the operation, and checks its method, its scopes and the transport of a subscription. */
export function useOperation(analyze: Analyze): Plugin {
  return {
    onParse({ context }) {
      return ({ extendContext, result: document }) => {
        if (document instanceof Error) return
        const { params, req } = context
        const operation = getOperationAST(document, params.operationName)
        if (!operation) throw new GraphQLError('operationName: must name an operation of the document')
        const name = operation.name && toLoggedName(operation.name.value)
        req.operation = { type: operation.operation, name } // a stream changes it
        requireMethod(req.method, operation)
        requireScope(req, ...analyze(document).scopesOf(operation))
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
