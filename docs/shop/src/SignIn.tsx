import { type FormEvent, useState } from 'react'
import { keySession, type Session, signIn } from './session.ts'

export function SignIn({ problem, onSignIn }: { problem: string; onSignIn: (session: Session) => void }) {
  const [failure, setFailure] = useState('')

  function useKey(event: FormEvent<HTMLFormElement>) {
    event.preventDefault()
    const key = String(new FormData(event.currentTarget).get('key')).trim()
    if (key) onSignIn(keySession(key))
    else setFailure('Please enter your key.')
  }

  return (
    <>
      <h1>Pet shop</h1>
      <p role="alert">{failure || problem}</p>
      {signIn && (
        <button onClick={() => signIn().catch(() => setFailure('Sign-in is not possible just now. Please try again.'))}>
          Sign in
        </button>
      )}
      <form onSubmit={useKey} noValidate>
        <label>
          API key <input name="key" type="password" autoComplete="off" />
        </label>
        <button>Use this key</button>
      </form>
    </>
  )
}
