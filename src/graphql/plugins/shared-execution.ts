import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ExecutionResult, type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import { createCoalescer } from '../../coalesce.ts'
import { lazy } from '../../lazy.ts'
import type { Analyze } from '../analysis.ts'
import type { Plugin } from '../context.ts'
import type { GraphQLContext } from '../schema/builder.ts'

/** Executions that took no longer the last time, in milliseconds, begin together, so that they share statements. */
const LONG_EXECUTION_MS = 1

export interface SharedOutcome {
  result: ExecutionResult
  /** `data` as JSON. It is formatted when it is sent: the texts of a whole batch would take memory at once. */
  dataJson(): string
  /** How long the execution waited for the database, in milliseconds. */
  databaseMs: number
}

/**
 * Identical queries share one execution, since its result depends only on the text of the request. It has no caller and
 * its own deadline; each of the requests waits until its own deadline.
 * @param isCopied whether each request gets a result of its own, which other plugins may change
 */
export function useSharedExecution(analyze: Analyze, isCopied: boolean): Plugin {
  const coalesce = createCoalescer<SharedOutcome>()
  /** What the last execution of an operation took until it waited for the database, in milliseconds. */
  const lastMs = new WeakMap<OperationDefinitionNode, number>()
  /** Each long execution that begins later than its request has a turn of the event loop; this is that of the last one. */
  let lastTurn: Promise<void> = Promise.resolve()

  return {
    onExecute({ args, context, executeFn, extendContext, setExecuteFn }) {
      const { operation, params, req, resolved, services } = context
      if (operation.operation !== OperationTypeNode.QUERY) return
      if (params !== resolved) return // another plugin has changed them, so the text of the request does not say all
      // Introspection waits for nothing, so all of its execution is in the turn of its client.
      if (analyze(args.document).introspects) return

      async function execute(isInTurn: boolean): Promise<SharedOutcome> {
        const isLong = (lastMs.get(operation) ?? 0) > LONG_EXECUTION_MS
        // Many may begin when one statement ends.
        if (isLong && !isInTurn) await (lastTurn = lastTurn.then(() => nextTurn()))
        const deadline = req.deadline.fork()
        const contextValue: GraphQLContext = { services, deadline, caller: undefined }
        const beganMs = performance.now()
        const execution = executeFn({ ...args, contextValue }) as Promise<ExecutionResult> // nothing is streamed
        lastMs.set(operation, performance.now() - beganMs)
        const result = await execution
        return { result, dataJson: lazy(() => JSON.stringify(result.data)), databaseMs: deadline.databaseMs }
      }
      setExecuteFn(async () => {
        let isInTurn = true // the turn of its client, which ends with the synchronous part
        const text = req.bodyText ?? req.originalUrl
        const outcome = req.deadline.runShared(() => coalesce(text, () => execute(isInTurn)))
        isInTurn = false
        const shared = await outcome
        extendContext({ shared })
        const { result } = shared
        return isCopied ? { ...result, data: structuredClone(result.data ?? null) } : result
      })
    },
  }
}
