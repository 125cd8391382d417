import type { Request } from 'express'
import type { DocumentNode, OperationDefinitionNode } from 'graphql'
import { getOperationAST, GraphQLError, NoFragmentCyclesRule, OperationTypeNode } from 'graphql'
import { UniqueFragmentNamesRule, validate } from 'graphql'
import { requireScope } from '../auth/authenticate.ts'
import { ApiError } from '../errors.ts'
import { redactKeys } from '../telemetry/logger.ts'
import { type Analysis, analyze } from './analysis.ts'
import type { Engine } from './engine.ts'
import { GraphQLRequestError } from './request-errors.ts'
import { checkLimits, limitExceeded } from './limits.ts'
import type { GraphQLParams } from './params.ts'
import { schema } from './schema/index.ts'
import { scopesOf } from './scopes.ts'
import { requireTransport, type Transport } from './subscription/transports.ts'
import { resolveDocument, type TrustedDocuments } from './trusted-documents.ts'
import { invalidVariables } from './variables.ts'

/** A valid operation that its caller may execute. */
export interface Prepared {
  document: DocumentNode
  operation: OperationDefinitionNode
  coerced: Record<string, unknown>
  /** Whether it selects `__schema` or `__type`. */
  introspects: boolean
  /** In points; the limit is the largest cost that this caller's operations may have. */
  cost: { requested: number; limit: number }
  /** Sends the events of a subscription; undefined for other operations. */
  transport: Transport | undefined
}

/** Clients choose the name of an operation, so its length is limited for logs and traces, in characters. */
const MAX_OPERATION_NAME_LENGTH = 100

/** @returns a function that throws ApiError or GraphQLError for a request that it rejects */
export function createPrepare(engine: Engine, trusted: TrustedDocuments, costLimit: number) {
  const validOperations = new WeakMap<OperationDefinitionNode, Analysis>()

  return (params: GraphQLParams, req: Request): Prepared => {
    const document = parseDocument(engine, resolveDocument(trusted, params))
    const operation = getOperationAST(document, params.operationName)
    if (!operation) throw new GraphQLError('operationName: must name an operation of the document')
    req.operation = { type: operation.operation, name: operation.name && loggedName(operation.name.value) }
    authorize(req, document, operation)
    const transport = operation.operation === OperationTypeNode.SUBSCRIPTION ? requireTransport(req) : undefined

    const analysis = validOperations.get(operation) ?? checkDocument(engine, document, operation)
    validOperations.set(operation, analysis)

    const variables = params.variables ?? {}
    const coerced = engine.coerceVariables(operation, variables)
    if (!coerced) throw invalidVariables(document, operation, variables)

    const cost = { requested: analysis.cost(coerced), limit: costLimit }
    if (cost.requested > cost.limit) throw invalid([limitExceeded('The cost', cost.requested, cost.limit)])
    return { document, operation, coerced, introspects: analysis.introspects, cost, transport }
  }
}

/** Keys are redacted before the name is cut: a part of one is not known as a key. */
function loggedName(name: string): string {
  return redactKeys(name).slice(0, MAX_OPERATION_NAME_LENGTH)
}

function parseDocument(engine: Engine, text: string): DocumentNode {
  try {
    return engine.parse(text)
  } catch (error) {
    if (error instanceof GraphQLError) throw new GraphQLRequestError('GRAPHQL_PARSE_FAILED', error)
    // The parser is recursive: deep nesting may exceed the stack before the limit of tokens.
    if (!(error instanceof RangeError)) throw error
    throw new GraphQLRequestError('GRAPHQL_PARSE_FAILED', new GraphQLError('The document is nested too deep.'))
  }
}

/** @throws ApiError METHOD_NOT_ALLOWED for an operation that must use POST, PERMISSION_DENIED without a scope */
function authorize(req: Request, document: DocumentNode, selected: OperationDefinitionNode): void {
  const { operation } = selected
  if (req.method !== 'POST' && operation !== OperationTypeNode.QUERY) {
    const message = `${operation === OperationTypeNode.MUTATION ? 'Mutations' : 'Subscriptions'} must use POST.`
    throw new ApiError('METHOD_NOT_ALLOWED', message, { headers: { Allow: 'POST' } })
  }
  requireScope(req, ...scopesOf(document, selected))
}

function checkDocument(engine: Engine, document: DocumentNode, operation: OperationDefinitionNode): Analysis {
  // With fragments in a cycle, other rules take unbounded time. NoFragmentCyclesRule skips fragments with the same name.
  const cycles = validate(schema, document, [UniqueFragmentNamesRule, NoFragmentCyclesRule], { maxErrors: 1 })
  if (cycles.length) throw invalid(cycles)
  const analysis = analyze(document, operation)
  const exceeded = checkLimits(analysis)
  if (exceeded.length) throw invalid(exceeded)
  // The GraphQL specification rejects @skip and @include there. graphql-js 16 throws in validation or execution instead.
  const { conditional } = analysis
  const message = 'The root field of a subscription must not have @skip or @include.'
  if (conditional.length) throw invalid([new GraphQLError(message, { nodes: conditional })])
  const errors = engine.validate(document)
  if (errors.length) throw invalid(errors)
  return analysis
}

function invalid(errors: readonly GraphQLError[]): GraphQLRequestError {
  return new GraphQLRequestError('GRAPHQL_VALIDATION_FAILED', ...errors)
}
