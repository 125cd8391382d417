import { useEffect, useState, useTransition } from 'react'
import { AddPet } from './AddPet.tsx'
import { type Filter, type Pet, type PetStore, STATUSES } from './store.ts'
import { usePets } from './use-pets.ts'

export function Shop({ store, onSignOut }: { store: PetStore; onSignOut: () => void }) {
  const [filter, setFilter] = useState<Filter>({})
  const [isLoading, startLoading] = useTransition()
  const { pets, pageInfo, problem, add, loadMore } = usePets(store, filter)
  const matches = ({ status, categoryId }: Pet) =>
    (!filter.status || status === filter.status) && (!filter.categoryId || categoryId === filter.categoryId)

  const [categories, setCategories] = useState<string[]>([]) // of all animals that were shown
  useEffect(() => {
    setCategories((known) => [...new Set([...known, ...pets.map(({ categoryId }) => categoryId)])].sort(byNumber))
  }, [pets])

  const none = filter.status || filter.categoryId ? 'No animal matches the filter.' : 'There are no animals yet.'
  const state = pageInfo ? pets.length === 0 && none : !problem && 'Loading…'

  return (
    <>
      <header>
        <h1>Pet shop</h1>
        <button onClick={onSignOut}>Sign out</button>
      </header>
      <AddPet store={store} onAdded={(pet) => matches(pet) && add(pet)} />
      <h2>Animals</h2>
      <fieldset>
        <legend>Filter</legend>
        <Choice
          label="Status"
          options={STATUSES}
          onChoose={(value) => setFilter({ ...filter, status: STATUSES.find((status) => status === value) })}
        />
        <Choice
          label="Category"
          options={categories}
          onChoose={(value) => setFilter({ ...filter, categoryId: value || undefined })}
        />
      </fieldset>
      <p role="status" className="state">
        {state}
      </p>
      <ul>
        {pets.map(({ id, name, categoryId, status }) => (
          <li key={id}>
            <strong>{name}</strong>
            <span>category {categoryId}</span>
            {status && <em>{status}</em>}
          </li>
        ))}
      </ul>
      {problem && <p role="alert">{problem}</p>}
      {pageInfo?.hasNextPage && (
        <button onClick={() => startLoading(loadMore)}>{isLoading ? 'Loading…' : 'Show more'}</button>
      )}
    </>
  )
}

const byNumber = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true })

interface ChoiceProps {
  label: string
  options: string[]
  /** With the chosen option, or '' for all. */
  onChoose: (value: string) => void
}

function Choice({ label, options, onChoose }: ChoiceProps) {
  return (
    <label>
      {label}
      <select onChange={({ target }) => onChoose(target.value)}>
        <option value="">all</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    </label>
  )
}
