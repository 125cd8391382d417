import { Environment, Network, RecordSource, Store } from 'relay-runtime'
import { createExecute } from '../execute.ts'

export function createEnvironment(url: string, key: string): Environment {
  const execute = createExecute(url, key)
  const network = Network.create(async ({ id, text, operationKind }, variables) => {
    const document = id ? { documentId: id } : { query: text } // an id if relay.config.json has persistConfig
    const mayRepeat = operationKind !== 'mutation' || 'idempotencyKey' in variables
    const { data, error } = await execute<object>({ ...document, variables }, mayRepeat)
    if (error || !data) throw Object.assign(new Error(error?.message), error)
    return { data }
  })
  return new Environment({ network, store: new Store(new RecordSource()) })
}
