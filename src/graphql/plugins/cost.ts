import { type ExecutionArgs, getVariableValues, type GraphQLSchema } from 'graphql'
import type { RateLimiter } from '../../auth/rate-limit.ts'
import { callerOf } from '../../http/request.ts'
import type { Analyze } from '../analysis.ts'
import type { PipelineContext, Plugin } from '../context.ts'
import { limitExceededError, MAX_COST, ERROR_OPTIONS } from '../document-limits.ts'

/** Coerces the variables, drops undeclared ones, and rejects an operation that costs more than its caller may spend. */
export function useCost(schema: GraphQLSchema, analyze: Analyze, clientLimiter: RateLimiter | undefined): Plugin {
  const limit = Math.min(MAX_COST, clientLimiter?.points ?? MAX_COST)

  function consume({ args, context }: { args: ExecutionArgs; context: PipelineContext }): void {
    const { operation, params, req, res } = context
    const values = args.variableValues ?? {}
    const { coerced, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], values, ERROR_OPTIONS)
    if (!coerced) throw new AggregateError(errors)
    context.variables = coerced
    // The context stays in memory as long as the execution. What the operation does not declare may take a megabyte.
    const isDeclared = (name: string) => Object.hasOwn(coerced, name)
    const onlyDeclared = () => Object.fromEntries(Object.entries(values).filter(([name]) => isDeclared(name)))
    const declared = Object.keys(values).every(isDeclared) ? values : onlyDeclared()
    params.variables = args.variableValues = declared
    params.extensions = {}
    const requested = analyze(args.document).costOf(operation, coerced)
    if (requested > limit) throw limitExceededError('The cost', requested, limit)
    context.cost = { requested, limit }
    if (clientLimiter && requested > 1) clientLimiter.consume(callerOf(req).clientId, requested - 1, res)
  }

  return { onExecute: consume, onSubscribe: consume }
}
