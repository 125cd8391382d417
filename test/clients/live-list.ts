import { expect, onTestFinished } from 'vitest'
import { readManifest } from '../../src/graphql/plugins/trusted-documents.ts'
import { pathOf } from '../support/files.ts'
import { serviceFixture, testWithService, type TestService } from '../support/harness.ts'
import type { PetStoreError } from './examples/errors.ts'
import * as apollo from './examples/live-apollo.ts'
import * as graphqlSse from './examples/live-graphql-sse.ts'
import * as urql from './examples/live-urql.ts'
import * as relay from './examples/relay/LivePets.ts'

interface LiveClient {
  watchPets(
    url: string,
    key: string,
    show: (pets: { name: string }[]) => void,
    fail: (error: PetStoreError) => void,
  ): () => void
}

export const liveClients = { 'graphql-sse': graphqlSse, urql, 'Apollo Client': apollo, Relay: relay }

/** Relay sends the hashes of its documents. */
export const trusted = {
  mode: 'allow' as const,
  byHash: await readManifest(pathOf('test/clients/generated/relay.json')),
}

/** A test with its own service and its own database. */
export const test = testWithService.extend<{ service: TestService }>({
  service: serviceFixture('templateUrl', { trusted }),
})

/** Opens a live list, until the test ends. @returns what it shows */
export function openList({ watchPets }: LiveClient, base: string, key: string) {
  const list = { names: [] as string[], errors: [] as PetStoreError[] }
  const show = (pets: { name: string }[]) => void (list.names = pets.map(({ name }) => name))
  const stop = watchPets(`${base}/graphql`, key, show, (error) => void list.errors.push(error))
  onTestFinished(stop)
  return Object.assign(list, { stop })
}

export async function add({ post }: TestService, ...names: string[]): Promise<void> {
  for (const name of names) expect((await post({ name, categoryId: 1 })).status).toBe(201)
}

/** The value of a metric of streams. */
export async function streamsOf({ send }: TestService, series = 'petstore_streams'): Promise<number> {
  const lines = (await (await send('/metrics')).text()).split('\n')
  return Number(lines.find((line) => line.startsWith(`${series} `))?.slice(series.length))
}

export const CLOSED = 'petstore_streams_ended_total{reason="client"}'
