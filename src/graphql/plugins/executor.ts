import { type GraphQLSchema, isAbstractType } from 'graphql'
import { isReplacedByPlugin, type Plugin } from '../context.ts'
import { createExecute } from '../execution.ts'

/** Executes queries and mutations. A schema with interfaces or unions is left to the executor that Yoga would use. */
export function useExecutor(schema: GraphQLSchema): Plugin {
  if (Object.values(schema.getTypeMap()).some(isAbstractType)) return {}
  const execute = createExecute(schema)
  return {
    onExecute({ context, executeFn, setExecuteFn }) {
      const { operation, variables } = context
      setExecuteFn((args) => {
        const request = { document: args.document, operation, variables }
        return isReplacedByPlugin(args, context) ? executeFn(args) : execute(request, args.contextValue)
      })
    },
  }
}
