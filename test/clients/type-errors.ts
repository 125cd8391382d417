import createClient from 'openapi-fetch'
import type {
  AddPetMutationVariables,
  PetByIdQuery,
  PetListQuery,
  PetListQueryVariables,
} from './generated/codegen/graphql.ts'
import type { paths } from './generated/openapi.ts'

// What the generated types allow and reject: the compiler reports an unused @ts-expect-error.

export function checkResults(animal: PetByIdQuery['pet'], { pets }: PetListQuery) {
  // @ts-expect-error the animal may be null
  const name: string = animal.name
  if (!animal) return undefined
  const ids: [string, string] = [animal.id, animal.categoryId]
  const status: 'available' | 'pending' | 'sold' | null | undefined = animal.status
  const cursor: string | null | undefined = pets.pageInfo.endCursor
  // @ts-expect-error an id is a string, since a number would round an int64
  const id: number = animal.id
  // @ts-expect-error status may be null
  const upper: string = animal.status.toUpperCase()
  // @ts-expect-error there is no fourth status
  const gone: boolean = animal.status === 'gone'
  // @ts-expect-error nodes was not selected
  const { nodes } = pets
  return { name, ids, status, cursor, id, upper, gone, nodes }
}

export const checkedVariables: [PetListQueryVariables[], AddPetMutationVariables['input'][]] = [
  [
    { first: 5, after: null, status: 'sold' },
    // @ts-expect-error first is a number
    { first: '5' },
    // @ts-expect-error statuses are in lower case
    { first: 5, status: 'SOLD' },
  ],
  [
    { name: 'Rex', categoryId: '9223372036854775807' },
    // @ts-expect-error a categoryId is a string
    { name: 'Rex', categoryId: 7 },
    // @ts-expect-error name is missing
    { categoryId: '7' },
    // @ts-expect-error the service assigns the id
    { name: 'Rex', categoryId: '7', id: '1' },
  ],
]

export function invalidRestCalls() {
  const api = createClient<paths>({ baseUrl: 'https://petstore.example/v1' })
  return [
    // @ts-expect-error name is missing
    () => api.POST('/pets', { body: { categoryId: 1 } }),
    // @ts-expect-error there is no fourth status
    () => api.POST('/pets', { body: { name: 'x', categoryId: 1, status: 'gone' } }),
    // @ts-expect-error limit is a number
    () => api.GET('/pets', { params: { query: { limit: '5' } } }),
    // @ts-expect-error there is no such path
    () => api.GET('/orders'),
  ]
}
