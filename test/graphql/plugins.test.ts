import { type DocumentNode, GraphQLError, NoSchemaIntrospectionCustomRule, parse, print } from 'graphql'
import { usePayloadFormatter, type YogaInitialContext } from 'graphql-yoga'
import { expect } from 'vitest'
import type { PipelineContext, Plugin } from '../../src/graphql/context.ts'
import { openStream } from '../support/event-stream.ts'
import { testWithSharedService as test } from '../support/harness.ts'

const COUNT = { query: '{ pets { totalCount } }' }

test('a plugin of the ecosystem reads the context of the execution, and the client sees what it does to the result', async ({
  service,
}) => {
  const plugin = usePayloadFormatter((result, { contextValue }) => ({
    ...result,
    extensions: { method: (contextValue as YogaInitialContext).request.method },
  }))
  const peer = await service.startPeer({ plugins: [plugin] })
  const response = await peer.postGraphQL(COUNT, { 'GraphQL-Cost': '1' })
  expect(await response.json()).toEqual({
    data: { pets: { totalCount: expect.any(Number) } },
    extensions: { method: 'POST', cost: { requested: 30, limit: 1_000 } },
  })
})

test('identical queries at once share an execution, and hooks run for each, on its own result', async ({ service }) => {
  const executed: string[] = []
  const plugin: Plugin = {
    onExecute: ({ context }) => void executed.push(context.req.id),
    onExecutionResult({ context, result, setResult }) {
      if (!result || Symbol.asyncIterator in result) return
      if (result.errors) (result.errors as GraphQLError[]).push(new GraphQLError('added'))
      else Object.assign(result.data.pets, { seenBy: context.req.id })
      setResult({ ...result, extensions: { requestId: context.req.id } })
    },
  }
  const peer = await service.startPeer({ plugins: [plugin] })
  const ids = Array.from({ length: 5 }, (_, n) => `request-${n}`)
  const send = async (id: string, body = COUNT) => (await peer.postGraphQL(body, { 'X-Request-Id': id })).json()
  const pets = { totalCount: expect.any(Number) }
  const changed = (id: string) => ({ data: { pets: { ...pets, seenBy: id } }, extensions: { requestId: id } })
  expect(await Promise.all(ids.map((id) => send(id)))).toEqual(ids.map(changed))
  expect(executed.sort()).toEqual(ids)
  const failed = await Promise.all(ids.map((id) => send(id, { query: '{ pet(id: 0) { id } }' })))
  for (const body of failed) expect(body).toMatchObject({ errors: [expect.anything(), expect.anything()] })
})

test('a plugin answers a request, rejects it with a code of the service, adds errors, or ends a subscription before it begins', async ({
  service,
}) => {
  const originalError = Object.assign(new Error('of a library'), { code: 'ECONNREFUSED' })
  const logIn = new GraphQLError('Log in.', { extensions: { code: 'UNAUTHENTICATED' }, originalError })
  const plugin: Plugin = {
    onParams({ params, setResult }) {
      if (params.operationName === 'Cached') setResult({ data: { fromCache: true } })
      if (params.operationName === 'Early') throw logIn
      if (params.operationName === 'Fault') throw new GraphQLError('No code.')
    },
    onContextBuilding({ context }) {
      if (context.params.operationName === 'Code') throw logIn
    },
    onExecutionResult({ result, setResult, context }) {
      const name = context.params?.operationName // without params if onParams has set the result
      if (name === 'Empty') setResult({ ...result, errors: [] })
      if (name === 'Added') setResult({ ...result, errors: [logIn] })
      if (name === 'Ended') setResult({ errors: [new GraphQLError('No.')] })
    },
  }
  const peer = await service.startPeer({ plugins: [plugin] })
  const send = async (operationName: string, selection = '{ __typename }', type = 'query') => {
    const query = `${type} ${operationName} ${selection}`
    const Accept = 'application/graphql-response+json, text/event-stream'
    const response = await peer.postGraphQL({ query, operationName }, { Accept })
    return [response.status, await response.json()]
  }
  expect(await send('Cached')).toEqual([200, { data: { fromCache: true } }])
  for (const name of ['Early', 'Code'])
    expect(await send(name), name).toMatchObject([401, { errors: [{ message: 'Log in.' }] }])
  expect(await send('Fault')).toMatchObject([500, { errors: [{ extensions: { code: 'INTERNAL' } }] }])
  const added = { message: 'Log in.', extensions: { code: 'UNAUTHENTICATED', status: 401 } }
  expect(await send('Added')).toEqual([294, { errors: [added], data: { __typename: 'Query' } }])
  expect(await send('Empty')).toEqual([200, { data: { __typename: 'Query' } }])
  const ended = await send('Ended', '{ petCreated { cursor } }', 'subscription')
  expect(ended).toMatchObject([422, { errors: [{ message: 'No.' }] }])
  expect(await peer.metric('petstore_streams')).toBe(0)
  expect((await openStream(peer, { query: 'subscription Empty { petCreated { cursor } }' })).status).toBe(200)
})

test('the hooks of a subscription run once for a stream, and none for its events', async ({ service }) => {
  const hooks: string[] = []
  const plugin: Plugin = {
    onParams: () => void hooks.push('params'),
    onParse: () => void hooks.push('parse'),
    onValidate: () => void hooks.push('validate'),
    onSubscribe: () => void hooks.push('subscribe'),
    onExecute: () => void hooks.push('execute'),
  }
  const peer = await service.startPeer({ plugins: [plugin] })
  const stream = await openStream(peer, { query: 'subscription { petCreated { node { name } } }' })
  for (const name of ['one', 'two']) await service.create({ name })
  expect((await stream.received(2)).map(({ data }) => data)).toEqual(
    ['one', 'two'].map((name) => JSON.stringify({ data: { petCreated: { node: { name } } } })),
  )
  expect(hooks).toEqual(['params', 'parse', 'validate', 'subscribe'])
})

test('a rule that a plugin adds to some requests rejects a document that others have sent', async ({ service }) => {
  const plugin: Plugin = {
    onValidate({ context, addValidationRule }) {
      if (context.req.get('X-Test') === 'strict') addValidationRule(NoSchemaIntrospectionCustomRule)
    },
  }
  const peer = await service.startPeer({ plugins: [plugin] })
  const introspection = { query: '{ __schema { queryType { name } } }' }
  const statuses = []
  for (const test of ['lax', 'strict', 'lax', 'strict']) {
    statuses.push((await peer.postGraphQL(introspection, { 'X-Test': test })).status)
  }
  expect(statuses).toEqual([200, 422, 200, 422])
})

const PET = 'query ($id: ID!) { ...Pet } fragment Pet on Query { pet(id: $id) { id } }'
const chosen = ({ req }: Pick<PipelineContext, 'req'>) => req.get('X-Pet') ?? ''
const chosenPet = (context: Pick<PipelineContext, 'req'>) => `{ pet(id: ${chosen(context)}) { id } }`

test.for<[title: string, plugin: Plugin]>([
  ['its parameters', { onParams: ({ context, params }) => void (params.variables = { id: chosen(context) }) }],
  ['the execution', { onExecute: ({ args, context }) => void (args.variableValues = { id: chosen(context) }) }],
  ['its document', { onParse: ({ context, setParsedDocument }) => setParsedDocument(parse(chosenPet(context))) }],
  [
    'the document of the execution',
    {
      onExecute: ({ context, executeFn, setExecuteFn }) =>
        setExecuteFn((args) => executeFn({ ...args, document: parse(chosenPet(context)) })),
    },
  ],
  [
    'a fragment of the execution',
    {
      onExecute: ({ context, executeFn, setExecuteFn }) =>
        setExecuteFn((args) => {
          const [operation = expect.unreachable()] = args.document.definitions
          const [fragment = expect.unreachable()] = parse(`fragment Pet on Query ${chosenPet(context)}`).definitions
          return executeFn({ ...args, document: { ...args.document, definitions: [operation, fragment] } })
        }),
    },
  ],
])('callers whose requests a plugin changes in %s get their own results', async ([, plugin], { service }) => {
  const peer = await service.startPeer({ plugins: [plugin] })
  const ids = [await peer.create(), await peer.create(), await peer.create()].map(String)
  const body = { query: PET, variables: { id: '0' } }
  const send = async (id: string) => (await peer.postGraphQL(body, { 'X-Pet': id })).json()
  expect(await Promise.all([...ids, ...ids].map(send))).toEqual(
    [...ids, ...ids].map((id) => ({ data: { pet: { id } } })),
  )
})

test('a document that a plugin replaces when it is parsed is executed, for events, too', async ({ service }) => {
  const plugin: Plugin = {
    onParse:
      () =>
      ({ result, replaceParseResult }) =>
        replaceParseResult(parse(print(result as DocumentNode).replace(/{\s+id\s+}/, '{ name }'))),
  }
  const peer = await service.startPeer({ plugins: [plugin] })
  const stream = await openStream(peer, { query: 'subscription { petCreated { node { id } } }' })
  const id = await peer.create({ name: 'Rex' })
  expect(await peer.graphql(`{ pet(id: ${id}) { id } }`)).toEqual({ data: { pet: { name: 'Rex' } } })
  expect(JSON.parse((await stream.received(1))[0]?.data ?? '')).toEqual({
    data: { petCreated: { node: { name: 'Rex' } } },
  })
})

test('a request that a plugin rejects before its execution consumes one point, and leaves others as they are', async ({
  service,
}) => {
  const plugin: Plugin = {
    onValidate:
      ({ context }) =>
      ({ result }) =>
        void (chosen(context) && (result as Error[]).push(new GraphQLError('No.'))),
  }
  const peer = await service.startPeer({ plugins: [plugin], RATE_LIMIT_POINTS: 1_000 })
  const send = async (pet: string) => {
    const query = '{ pets(first: 100) { nodes { id } } }'
    const { status, headers } = await peer.postGraphQL({ query }, { 'X-Pet': pet })
    return [status, /r=\d+/.exec(headers.get('RateLimit') ?? '')?.[0]]
  }
  expect(await send('1')).toEqual([422, 'r=999'])
  expect(await send('')).toEqual([200, 'r=899'])
})
