import { type DocumentNode, getOperationAST, GraphQLError, OperationTypeNode } from 'graphql'
import { requireScope } from '../../auth/authenticate.ts'
import { ApiError } from '../../errors.ts'
import { toLoggedName } from '../../telemetry/logger.ts'
import type { Analyze } from '../analysis.ts'
import type { PipelineContext, Plugin } from '../context.ts'
import { requireTransport } from '../subscription/transports.ts'

/** Before the validation, selects the operation, and checks its method, its scopes and the transport of a subscription. */
export function useOperation(analyze: Analyze): Plugin {
  function selectAndAuthorize(document: DocumentNode, context: PipelineContext): void {
    const { params, req } = context
    const operation = getOperationAST(document, params.operationName)
    if (!operation) throw new GraphQLError('operationName: must name an operation of the document')
    const { operation: type, name } = operation
    req.operation = { type, name: name && toLoggedName(name.value) } // an object of its own, which a stream changes
    if (req.method !== 'POST' && type !== OperationTypeNode.QUERY) {
      const message = `${type === OperationTypeNode.MUTATION ? 'Mutations' : 'Subscriptions'} must use POST.`
      throw new ApiError('METHOD_NOT_ALLOWED', message, { headers: { Allow: 'POST' } })
    }
    requireScope(req, ...analyze(document).scopesOf(operation))
    if (type === OperationTypeNode.SUBSCRIPTION) requireTransport(req)
    context.operation = operation
  }

  return {
    // In this hook, because Yoga's own, which follows, would reject mutations by GET with 422 instead of 405.
    onParse({ context }) {
      return ({ result }) => void (result instanceof Error || selectAndAuthorize(result, context))
    },
    onValidate({ context, params: { documentAST: document } }) {
      if (!document.definitions.includes(context.operation)) selectAndAuthorize(document, context) // replaced by a plugin
    },
  }
}
