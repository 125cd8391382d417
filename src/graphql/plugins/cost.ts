import { type ExecutionArgs, getVariableValues, type GraphQLSchema } from 'graphql'
import { consumeQuota, type RateLimiter } from '../../auth/rate-limit.ts'
import type { Analyze } from '../analysis.ts'
import type { PipelineContext, Plugin } from '../context.ts'
import { limitExceededError, MAX_COST, ERROR_OPTIONS } from './document-limits.ts'

/** Coerces the variables, and rejects an operation whose cost exceeds the limit of its caller or what is left of the quota. */
export function useCost(schema: GraphQLSchema, analyze: Analyze, clientLimiter: RateLimiter | undefined): Plugin {
  const limit = Math.min(MAX_COST, clientLimiter?.points ?? MAX_COST)

  function consume(args: Pick<ExecutionArgs, 'document' | 'variableValues'>, context: PipelineContext): void {
    const { variableDefinitions = [] } = context.operation
    const { coerced, errors } = getVariableValues(schema, variableDefinitions, args.variableValues ?? {}, ERROR_OPTIONS)
    if (!coerced) throw new AggregateError(errors)
    // The context stays in memory as long as the execution. What the operation does not declare may take a megabyte.
    context.params.variables = args.variableValues = coerced
    context.params.extensions = {}
    const requested = analyze(args.document).costOf(context.operation, coerced)
    if (requested > limit) throw limitExceededError('The cost', requested, limit)
    context.cost = { requested, limit }
    if (clientLimiter && requested > 1) consumeQuota(clientLimiter, context.req, context.res, requested - 1)
  }

  return {
    onExecute: ({ args, context }) => consume(args, context),
    onSubscribe: ({ args, context }) => consume(args, context),
  }
}
