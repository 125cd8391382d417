import { setImmediate as nextTurn } from 'node:timers/promises'
import { type DocumentNode, type ExecutionArgs, type ExecutionResult, OperationTypeNode } from 'graphql'
import { createCoalescer } from '../../lib/coalesce.ts'
import { lazy, lazyFor } from '../../lib/lazy.ts'
import type { Analyze } from '../analysis.ts'
import { isReplacedByPlugin, type Plugin, type SharedOutcome } from '../context.ts'
import type { GraphQLContext } from '../schema/builder.ts'

/** Operations that took at most this time at their last execution, in milliseconds, begin together and share statements. */
const LONG_EXECUTION_MS = 1

/**
 * Identical queries share one execution, since its result depends only on the operation and its variables. The execution has
 * no caller, and a deadline that begins with it; each request waits until the deadline of the request.
 * @param isCopied whether each request gets a result of its own, which other plugins may change
 */
export function useSharedExecution(analyze: Analyze, isCopied: boolean): Plugin {
  /** For each document: the coalescer of its executions, and the synchronous time of the last one, in milliseconds. */
  const executionsOf = lazyFor((_document: DocumentNode) => ({ coalesce: createCoalescer<SharedOutcome>(), lastMs: 0 }))
  /** Long executions that begin after the turn of their request queue here: one begins in each turn of the event loop. */
  let lastTurn: Promise<void> = Promise.resolve()

  return {
    onExecute({ args, context, executeFn, extendContext, setExecuteFn }) {
      const { operation, req, services, variables } = context
      if (operation.operation !== OperationTypeNode.QUERY) return
      // Introspection is not shared. It waits for nothing, so all of its execution is in the turn of its client.
      if (analyze(args.document).introspects) return

      type Executions = ReturnType<typeof executionsOf>
      async function execute(given: ExecutionArgs, executions: Executions, isInTurn: boolean): Promise<SharedOutcome> {
        const isLong = executions.lastMs > LONG_EXECUTION_MS
        if (isLong && !isInTurn) await (lastTurn = lastTurn.then(() => nextTurn()))
        const deadline = req.deadline.fork()
        const contextValue: GraphQLContext = { services, deadline, caller: undefined }
        const beganAtMs = performance.now()
        const execution = executeFn({ ...given, contextValue }) as Promise<ExecutionResult> // nothing is streamed
        executions.lastMs = performance.now() - beganAtMs
        const result = await execution
        return { result, dataJson: lazy(() => JSON.stringify(result.data)), databaseMs: deadline.databaseMs }
      }
      setExecuteFn(async (given: ExecutionArgs) => {
        if (isReplacedByPlugin(given, context)) return executeFn(given)
        const executions = executionsOf(given.document) // another plugin may have replaced the fragments
        const key = JSON.stringify([operation.name?.value, variables])
        const shared = await req.deadline.waitForShared(() =>
          // An immediate execution is in the turn of its client.
          executions.coalesce(key, (isImmediate) => execute(given, executions, isImmediate)),
        )
        extendContext({ shared })
        const { result } = shared
        if (!isCopied) return result
        const errors = result.errors && { errors: [...result.errors] }
        return { ...result, ...errors, data: structuredClone(result.data ?? null) }
      })
    },
  }
}
