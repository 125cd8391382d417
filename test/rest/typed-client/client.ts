import createClient from 'openapi-fetch'
import type { paths } from './openapi.d.ts'

// A client that uses the types generated from /openapi.json. The test compiles and runs it.

/** Calls every operation. @returns a part of each response */
export async function everyOperation(baseUrl: string, key: string) {
  const api = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } })

  const created = await api.POST('/pets', {
    params: { header: { 'Idempotency-Key': 'typed' } },
    body: { name: 'Rex', categoryId: 7, status: 'available' },
  })
  const listed = await api.GET('/pets', { params: { query: { limit: 1, status: 'available' } } })
  const fetched = await api.GET('/pets/{petId}', { params: { path: { petId: created.data?.id ?? 0 } } })
  const absent = await api.GET('/pets/{petId}', { params: { path: { petId: -1 } } })

  const names: string[] | undefined = listed.data?.map((animal) => animal.name)
  const status: 'available' | 'pending' | 'sold' | undefined = fetched.data?.status
  const code: string | undefined = absent.error?.code
  return { id: created.data?.id, names, status, code }
}

/** Calls that the types must reject: the compiler reports an unused @ts-expect-error. */
export function invalidCalls() {
  const api = createClient<paths>({ baseUrl: 'https://petstore.example/v1' })
  return [
    // @ts-expect-error name is missing
    () => api.POST('/pets', { body: { categoryId: 1 } }),
    // @ts-expect-error no such status
    () => api.POST('/pets', { body: { name: 'x', categoryId: 1, status: 'gone' } }),
    // @ts-expect-error limit is a number
    () => api.GET('/pets', { params: { query: { limit: '5' } } }),
    // @ts-expect-error no such path
    () => api.GET('/orders'),
  ]
}
