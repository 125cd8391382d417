import type { DocumentNode, OperationDefinitionNode } from 'graphql'
import { getOperationAST, GraphQLError, OperationTypeNode } from 'graphql'
import { requireScope } from '../../auth/authenticate.ts'
import { ApiError } from '../../errors.ts'
import { toLoggedName } from '../../telemetry/logger.ts'
import type { Analyze } from '../analysis.ts'
import type { PipelineContext, Plugin } from '../context.ts'
import { requireTransport } from '../subscription/transports.ts'

/** Before the validation, selects the operation, and checks its method, its scopes and the transport of a subscription. */
export function useOperation(analyze: Analyze): Plugin {
  function select(document: DocumentNode, context: PipelineContext): void {
    const { params, req } = context
    const operation = getOperationAST(document, params.operationName)
    if (!operation) throw new GraphQLError('operationName: must name an operation of the document')
    const name = operation.name && toLoggedName(operation.name.value)
    req.operation = { type: operation.operation, name } // a stream changes it
    requireMethod(req.method, operation)
    requireScope(req, ...analyze(document).scopesOf(operation))
    if (operation.operation === OperationTypeNode.SUBSCRIPTION) requireTransport(req)
    context.operation = operation
  }

  return {
    onParse({ context }) {
      return ({ result }) => void (result instanceof Error || select(result, context))
    },
    onValidate({ context, params: { documentAST: document } }) {
      if (!document.definitions.includes(context.operation)) select(document, context) // another plugin has replaced it
    },
  }
}

function requireMethod(method: string, { operation }: OperationDefinitionNode): void {
  if (method === 'POST' || operation === OperationTypeNode.QUERY) return
  const message = `${operation === OperationTypeNode.MUTATION ? 'Mutations' : 'Subscriptions'} must use POST.`
  throw new ApiError('METHOD_NOT_ALLOWED', message, { headers: { Allow: 'POST' } })
}
