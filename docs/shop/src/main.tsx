import { StrictMode, useMemo, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { finishSignIn } from './session.ts'
import { Shop } from './Shop.tsx'
import { SignIn } from './SignIn.tsx'
import { createPetStore } from './store.ts'

const returned = await finishSignIn().catch((error: Error) => error)
const failed = returned instanceof Error

function App() {
  const [session, setSession] = useState(failed ? undefined : returned)
  const [problem, setProblem] = useState(failed ? `You are not signed in: ${returned.message}` : '')
  const store = useMemo(() => session && createPetStore(session, () => signOut('Please sign in again.')), [session])
  function signOut(problem = '') {
    setProblem(problem)
    setSession(undefined)
  }
  return store ? <Shop store={store} onSignOut={signOut} /> : <SignIn problem={problem} onSignIn={setSession} />
}

createRoot(document.getElementById('shop')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
