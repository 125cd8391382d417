import { expect, onTestFinished } from 'vitest'
import type { TestService } from '../support/harness.ts'
import type { PetStoreError } from './examples/errors.ts'
import * as apollo from './examples/live-apollo.ts'
import * as graphqlSse from './examples/live-graphql-sse.ts'
import * as urql from './examples/live-urql.ts'

export const liveClients = { 'graphql-sse': graphqlSse, urql, 'Apollo Client': apollo }

/** Opens a live list, until the test ends. @returns what it shows */
export function openList({ watchPets }: typeof urql, base: string, key: string) {
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
