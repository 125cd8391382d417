import { setImmediate as nextTurn } from 'node:timers/promises'
import { type ExecutionResult, type GraphQLError, type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import { createCoalescer } from '../coalesce.ts'
import { lazy } from '../lazy.ts'
import type { Analyze } from './analysis.ts'
import { operationOf, type Plugin } from './context.ts'
import type { GraphQLContext } from './schema/builder.ts'

/** Shorter executions begin together, so that they share statements. In milliseconds. */
const LONG_EXECUTION_MS = 1

type Data = Required<ExecutionResult>['data']

interface SharedOutcome {
  result: ExecutionResult
  /** `data` as JSON. It is formatted when it is sent: the texts of a whole batch would take memory at once. */
  dataJson(): string
  /** How long the execution waited for the database, in milliseconds. */
  databaseMs: number
}

/**
 * Identical queries share one execution, since its result depends only on the text of the request. It has no caller and
 * its own deadline; each of the requests waits until its own deadline, and gets a result of its own.
 */
export function useSharedExecution(analyze: Analyze): Plugin {
  const coalesce = createCoalescer<SharedOutcome>()
  /** What the last execution of an operation took until it waited for the database, in milliseconds. */
  const lastMs = new WeakMap<OperationDefinitionNode, number>()
  /** The turn of the event loop for the last long execution that begins later than its request: each has its own. */
  let lastTurn: Promise<void> = Promise.resolve()

  return {
    onExecute({ args, context, executeFn, setExecuteFn }) {
      const { params, req, resolved, services } = context
      const operation = operationOf(context)
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
        let isInTurn = true // of its client
        const text = req.bodyText ?? req.originalUrl
        const outcome = req.deadline.runShared(() => coalesce(text, () => execute(isInTurn)))
        isInTurn = false
        return new SharedResult(await outcome)
      })
    },
  }
}

/** A result that plugins may change: its `data` is copied when one of them reads it. */
export class SharedResult implements ExecutionResult {
  errors?: readonly GraphQLError[]
  declare data: Data
  readonly #outcome: SharedOutcome
  #own: { data: Data } | undefined

  // A property of the object, so that `{ ...result }` has it. With functions of its own, each object would get a hidden class.
  static readonly #DATA: PropertyDescriptor & ThisType<SharedResult> = {
    enumerable: true,
    configurable: true,
    get() {
      return (this.#own ??= { data: structuredClone(this.#outcome.result.data ?? null) }).data
    },
    set(data: Data) {
      this.#own = { data }
    },
  }

  constructor(outcome: SharedOutcome) {
    if (outcome.result.errors) this.errors = [...outcome.result.errors]
    this.#outcome = outcome
    Object.defineProperty(this, 'data', SharedResult.#DATA)
  }

  dataJson(): string {
    return this.#own ? JSON.stringify(this.#own.data) : this.#outcome.dataJson()
  }
}

/** The `data` of a result as JSON, formatted once for all if it is shared. */
export function dataJsonOf(result: ExecutionResult): string {
  return result instanceof SharedResult ? result.dataJson() : JSON.stringify(result.data)
}
