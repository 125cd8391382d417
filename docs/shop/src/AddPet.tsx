import { type FormEvent, useRef, useState } from 'react'
import { toFormMessages } from './errors.ts'
import { type Pet, type PetStore, STATUSES } from './store.ts'

export function AddPet({ store, onAdded }: { store: PetStore; onAdded: (pet: Pet) => void }) {
  const [problems, setProblems] = useState<Record<string, string>>({})
  const [state, setState] = useState('')
  // Idempotency keys by what is saved, until it has succeeded: saving the same again adds one animal.
  const keys = useRef(new Map<string, string>())

  async function save(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const value = (name: string) => String(new FormData(form).get(name))
    const status = STATUSES.find((status) => status === value('status'))
    setState('Saving…')
    const input = { name: value('name'), categoryId: value('categoryId'), status }
    const content = JSON.stringify(input)
    const key = keys.current.get(content) ?? crypto.randomUUID()
    keys.current.set(content, key)
    const { pet, error } = await store.addPet(input, key)
    setProblems(error ? toFormMessages(error) : {})
    setState(pet ? `${pet.name} was added.` : '')
    if (!pet) return
    keys.current.delete(content)
    onAdded(pet)
    form.reset()
  }

  return (
    <form onSubmit={save} noValidate>
      <h2>Add an animal</h2>
      <Field name="name" label="Name" problem={problems['name']} />
      <Field name="categoryId" label="Category" problem={problems['categoryId']} />
      <label>
        Status
        <select name="status">
          <option value="">none</option>
          {STATUSES.map((status) => (
            <option key={status}>{status}</option>
          ))}
        </select>
      </label>
      <button disabled={state === 'Saving…'}>Save</button>
      <p role="status">{state}</p>
      {problems['form'] && <p role="alert">{problems['form']}</p>}
    </form>
  )
}

function Field({ name, label, problem }: { name: string; label: string; problem: string | undefined }) {
  return (
    <label>
      {label}
      <input name={name} aria-invalid={!!problem} aria-describedby={`${name}-problem`} />
      <span id={`${name}-problem`} role="alert">
        {problem}
      </span>
    </label>
  )
}
