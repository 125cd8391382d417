import { ApolloClient, HttpLink, InMemoryCache } from '@apollo/client'
import { Client, fetchExchange } from '@urql/core'
import { parse } from 'graphql'
import { ClientError, GraphQLClient } from 'graphql-request'
import { createClient } from 'graphql-sse'
import { describe, expect, onTestFinished, vi } from 'vitest'
import { testWithService as test, type TestService, withClient } from '../support/harness.ts'
import { proxyPrograms, startProxyProgram } from '../support/proxies.ts'
import { toError as toApolloError } from './examples/apollo.ts'
import { type PetStoreError, toPetStoreError } from './examples/errors.ts'
import { createExecute } from './examples/execute.ts'
import { toError as toSseError } from './examples/live-graphql-sse.ts'
import { createEnvironment } from './examples/relay/environment.ts'

interface Outcome {
  data?: unknown
  error?: PetStoreError | undefined
}

/** Executes a query once, as the examples do. */
type Send = (url: string, key: string, query: string) => Promise<Outcome>

const toHeaders = (key: string) => ({ Authorization: `Bearer ${key}` })

const clients: Record<string, Send> = {
  async 'Apollo Client'(uri, key, query) {
    const link = new HttpLink({ uri, headers: toHeaders(key) })
    const client = new ApolloClient({ link, cache: new InMemoryCache() })
    const { data, error } = await client.query({ query: parse(query), errorPolicy: 'all', fetchPolicy: 'no-cache' })
    return { data, error: error && toApolloError(error) }
  },

  async urql(url, key, query) {
    const client = new Client({ url, exchanges: [fetchExchange], fetchOptions: { headers: toHeaders(key) } })
    const { data, error } = await client.query(query, {})
    return { data, error: error && toPetStoreError(error.graphQLErrors, error.networkError) }
  },

  async Relay(url, key, text) {
    const network = createEnvironment(url, key).getNetwork()
    const params = { text, id: null, name: '', operationKind: 'mutation', cacheID: '', metadata: {} } as const
    try {
      return { data: await network.execute(params, {}, {}).toPromise() } // a mutation is not repeated
    } catch (error) {
      return { error: error as PetStoreError } // what the environment throws
    }
  },

  async 'graphql-request'(url, key, query) {
    const client = new GraphQLClient(url, { headers: toHeaders(key), errorPolicy: 'all' })
    try {
      const { data, errors } = await client.rawRequest(query)
      return { data, error: errors && toPetStoreError(errors) }
    } catch (error) {
      return { error: toPetStoreError(error instanceof ClientError ? error.response.errors : [], error) }
    }
  },

  async 'graphql-sse'(url, key, query) {
    const client = createClient({ url, headers: toHeaders(key), retryAttempts: 0 })
    return new Promise<Outcome>((resolve) => {
      client.subscribe(
        { query },
        {
          next: ({ data, errors }) => resolve({ data, error: errors && toPetStoreError(errors) }),
          error: async (failure) => resolve({ error: await toSseError(failure) }),
          complete: () => {},
        },
      )
    })
  },

  'plain fetch': (url, key, query) => createExecute(url, key)({ query }, false),
}

/** Documents are rejected by an event, as GraphQL over SSE requires. */
const asEvents = { 400: 200, 422: 200, 294: 200 }

const TOO_MANY_TOKENS = `{ ${'__typename '.repeat(900)} }`

async function exhaust({ base }: TestService, key: string): Promise<void> {
  const body = JSON.stringify({ query: '{ pets { nodes { id } } }' })
  const init = { method: 'POST', headers: { ...toHeaders(key), 'Content-Type': 'application/json' }, body }
  while ((await fetch(`${base}/graphql`, init)).status !== 429);
}

const direct = { name: 'directly', installed: true }

describe.for([direct, ...proxyPrograms])('$name', ({ name, installed }) => {
  const title = installed ? '' : ` (SKIPPED: ${name} is not installed)`

  test.skipIf(!installed).for(Object.entries(clients))(
    `%s reads the code of each error, and data beside errors${title}`,
    async ([client, send], { service }) => {
      const limits = { lockTimeoutMs: 50, rateLimitWindowS: 3_600 }
      const peer = await service.startPeer({ RATE_LIMIT_POINTS: 100, limits })
      const port = name === 'directly' ? peer.port : (await startProxyProgram(onTestFinished, name, [peer.port])).port
      const keys = {
        writer: await service.keys.issue('writer', { scopes: ['pets:write'] }),
        busy: await service.keys.issue('busy'),
        unknown: await service.keys.issue('not looked up yet'),
      }
      const requests = vi.spyOn(globalThis, 'fetch')
      onTestFinished(() => void requests.mockRestore())

      async function outcomeOf(query: string, key = peer.key) {
        const before = requests.mock.results.length
        const { data, error } = await send(`http://127.0.0.1:${port}/graphql`, key, query)
        const responses = requests.mock.results.slice(before).map(({ value }) => value as Promise<Response>) // of fetch
        const statuses = (await Promise.all(responses)).map(({ status }) => status)
        return { statuses, code: error?.code, data: data ?? undefined }
      }
      const sent = (status: number) => [
        client === 'graphql-sse' && status in asEvents ? asEvents[status as keyof typeof asEvents] : status,
      ]
      const failed = (status: number, code: string) => ({ statuses: sent(status), code, data: undefined })

      expect(await outcomeOf(TOO_MANY_TOKENS)).toEqual(failed(400, 'GRAPHQL_PARSE_FAILED'))
      expect(await outcomeOf('{ none }')).toEqual(failed(422, 'GRAPHQL_VALIDATION_FAILED'))
      expect(await outcomeOf('{ __typename }', 'none')).toEqual(failed(401, 'UNAUTHENTICATED'))
      expect(await outcomeOf('{ pets { nodes { id } } }', keys.writer)).toEqual(failed(403, 'PERMISSION_DENIED'))
      await exhaust(peer, keys.busy)
      expect(await outcomeOf('{ __typename }', keys.busy)).toEqual(failed(429, 'RESOURCE_EXHAUSTED'))
      await withClient(async (connection) => {
        await connection.query('BEGIN; LOCK TABLE api_key IN ACCESS EXCLUSIVE MODE')
        expect(await outcomeOf('{ __typename }', keys.unknown)).toEqual(failed(503, 'UNAVAILABLE'))
        await connection.query('ROLLBACK')
      }, service.databaseUrl)

      const partial = await outcomeOf('{ __typename pet(id: 404) { id } }')
      expect(partial).toMatchObject({ statuses: sent(294), code: 'NOT_FOUND' })
      // Relay shows no errors of fields, so its environment throws them.
      expect(partial.data).toEqual(client === 'Relay' ? undefined : { __typename: 'Query', pet: null })
    },
  )
})
