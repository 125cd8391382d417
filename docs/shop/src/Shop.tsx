import { useState, useTransition } from 'react'
import { AddPet } from './AddPet.tsx'
import { type Filter, type Pet, type PetStore, STATUSES } from './store.ts'
import { usePets } from './use-pets.ts'

export function Shop({ store, onSignOut }: { store: PetStore; onSignOut: () => void }) {
  const [filter, setFilter] = useState<Filter>({})
  const [isLoading, startLoading] = useTransition()
  const { pets, pageInfo, problem, add, loadMore } = usePets(store, filter)
  const matches = ({ status, categoryId }: Pet) =>
    (!filter.status || status === filter.status) && (!filter.categoryId || categoryId === filter.categoryId)

  return (
    <>
      <header>
        <h1>Pet shop</h1>
        <button onClick={onSignOut}>Sign out</button>
      </header>
      <AddPet store={store} onAdded={(pet) => matches(pet) && add(pet)} />
      <h2>Animals</h2>
      <label>
        Status
        <select
          onChange={({ target }) =>
            setFilter({ ...filter, status: STATUSES.find((status) => status === target.value) })
          }
        >
          <option value="">all</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      {filter.categoryId && (
        <button onClick={() => setFilter({ ...filter, categoryId: undefined })}>Show all categories</button>
      )}
      <ul>
        {pets.map(({ id, name, categoryId, status }) => (
          <li key={id}>
            <strong>{name}</strong>
            <button onClick={() => setFilter({ ...filter, categoryId })}>category {categoryId}</button>
            {status && <em>{status}</em>}
          </li>
        ))}
      </ul>
      {problem && <p role="alert">{problem}</p>}
      {pageInfo ? pets.length === 0 && <p>There are no animals yet.</p> : !problem && <p>Loading…</p>}
      {pageInfo?.hasNextPage && (
        <button onClick={() => startLoading(loadMore)}>{isLoading ? 'Loading…' : 'Show more'}</button>
      )}
    </>
  )
}
