import { type FormEvent, useState } from 'react'
import { toFormMessages } from './errors.ts'
import { type Pet, type PetStore, STATUSES } from './store.ts'

const SAVING = 'Saving…'

export function AddPet({ store, onAdded }: { store: PetStore; onAdded: (pet: Pet) => void }) {
  const [problems, setProblems] = useState<Record<string, string>>({})
  const [state, setState] = useState('')
  // One for each animal: the animal is added once, however often it is sent.
  const [idempotencyKey, setIdempotencyKey] = useState(() => crypto.randomUUID())
  const changeKey = () => setIdempotencyKey(crypto.randomUUID())

  async function save(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const form = event.currentTarget
    const value = (name: string) => String(new FormData(form).get(name))
    const status = STATUSES.find((status) => status === value('status'))
    setState(SAVING)
    const input = { name: value('name'), categoryId: value('categoryId'), status }
    const { pet, error } = await store.addPet(input, idempotencyKey)
    setProblems(error ? toFormMessages(error) : {})
    setState(pet ? `${pet.name} was added.` : '')
    if (!pet) return
    onAdded(pet)
    changeKey()
    form.reset()
  }

  return (
    // A change while the animal is being saved keeps its key: without a response, it may have been added.
    <form onSubmit={save} onChange={state === SAVING ? undefined : changeKey} noValidate>
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
      <button disabled={state === SAVING}>Save</button>
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
