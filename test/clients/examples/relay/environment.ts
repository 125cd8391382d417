import { createClient, type RequestParams } from 'graphql-sse'
import {
  Environment,
  type GraphQLResponse,
  Network,
  Observable,
  RecordSource,
  type RequestParameters,
  Store,
  type Variables,
} from 'relay-runtime'
import { type PetStoreError, toPetStoreError } from '../errors.ts'
import { createExecute } from '../execute.ts'
import { toError } from '../live-graphql-sse.ts'
import { createStreamFetch } from '../live.ts'

const toThrown = (error: PetStoreError | undefined) => Object.assign(new Error(error?.message), error)

/** A document has an id if relay.config.json has persistConfig. */
const toDocument = ({ id, text }: RequestParameters) => (id ? { documentId: id } : { query: text })

export function createEnvironment(url: string, key: string): Environment {
  const execute = createExecute(url, key)
  const headers = { Authorization: `Bearer ${key}` }
  const streams = createClient({ url, headers, retryAttempts: 0, fetchFn: createStreamFetch() })

  async function fetchOnce(operation: RequestParameters, variables: Variables) {
    const mayRepeat = operation.operationKind !== 'mutation' || 'idempotencyKey' in variables
    const { data, error } = await execute<object>({ ...toDocument(operation), variables }, mayRepeat)
    if (error || !data) throw toThrown(error)
    return { data }
  }

  function subscribe(operation: RequestParameters, variables: Variables) {
    const request = { ...toDocument(operation), variables } as RequestParams // whose type requires a query
    return Observable.create<GraphQLResponse>((sink) =>
      streams.subscribe<object>(request, {
        next: ({ data, errors }) => (data ? sink.next({ data }) : sink.error(toThrown(toPetStoreError(errors)))),
        error: async (failure) => sink.error(toThrown(await toError(failure))),
        complete: () => sink.complete(),
      }),
    )
  }

  return new Environment({ network: Network.create(fetchOnce, subscribe), store: new Store(new RecordSource()) })
}
