import { cacheExchange, createClient, fetchExchange } from '@urql/core'
import { AddOnceDocument, AnimalDocument, WalkDocument } from './generated/codegen/graphql.ts'
import type { Client } from './typed.client.ts'

/** A client with urql, without React. */
export function urql(url: string, key: string): Client {
  const client = createClient({
    url,
    exchanges: [cacheExchange, fetchExchange],
    fetchOptions: { headers: { Authorization: `Bearer ${key}` } },
  })

  return {
    async walk(first, status) {
      const names: string[] = []
      let [pages, after, more] = [0, null as string | null | undefined, true] // a cursor from the second page on
      for (; more; pages++) {
        const { data, error } = await client.query(WalkDocument, { first, after, status })
        if (!data) throw error ?? new Error('neither data nor error')
        names.push(...data.pets.edges.map(({ node }) => node.name))
        after = data.pets.pageInfo.endCursor
        more = data.pets.pageInfo.hasNextPage
      }
      return { pages, names }
    },

    async add(input, idempotencyKey) {
      const { data } = await client.mutation(AddOnceDocument, { input, idempotencyKey })
      return data?.createPet
    },

    async animal(id) {
      const { data, error } = await client.query(AnimalDocument, { id })
      return { data, codes: error?.graphQLErrors.map(({ extensions }) => extensions['code']) ?? [] }
    },
  }
}
