import { StrictMode, useMemo, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { finishSignIn } from './session.ts'
import { Shop } from './Shop.tsx'
import { SignIn } from './SignIn.tsx'
import { createPetStore } from './store.ts'

let failure = ''
const returned = await finishSignIn().catch(() => void (failure = 'You are not signed in. Please try again.'))

function App() {
  const [session, setSession] = useState(returned)
  const [problem, setProblem] = useState(failure)
  const store = useMemo(() => session && createPetStore(session, () => signOut('Please sign in again.')), [session])
  function signOut(problem = '') {
    setProblem(problem)
    setSession(undefined)
  }
  function leave() {
    signOut()
    void session?.signOut?.()
  }
  return store ? <Shop store={store} onSignOut={leave} /> : <SignIn problem={problem} onSignIn={setSession} />
}

createRoot(document.getElementById('shop')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
