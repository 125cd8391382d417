import { ErrorResponse, InMemoryWebStorage, UserManager, WebStorageStateStore } from 'oidc-client-ts'

/** What a person signed in with: a key, or a sign-in whose access token is replaced when it expires. */
export interface Session {
  token(): Promise<string>
  /** Leaves this page for the issuer's, where the person would stay signed in. */
  signOut?(): Promise<void>
}

const { VITE_OIDC_ISSUER, VITE_OIDC_CLIENT, VITE_OIDC_AUDIENCE } = import.meta.env

const users =
  VITE_OIDC_ISSUER &&
  new UserManager({
    authority: VITE_OIDC_ISSUER,
    client_id: VITE_OIDC_CLIENT,
    redirect_uri: `${location.origin}/`,
    post_logout_redirect_uri: `${location.origin}/`,
    scope: 'openid offline_access pets:read pets:write',
    prompt: 'consent', // without it an issuer gives no refresh token (OpenID Connect Core §11)
    resource: VITE_OIDC_AUDIENCE,
    automaticSilentRenew: false, // token() renews
    // Tokens are in memory only. The state of the redirect has to outlive this page.
    userStore: new WebStorageStateStore({ store: new InMemoryWebStorage() }),
    stateStore: new WebStorageStateStore({ store: sessionStorage }),
  })

/** Leaves this page for the issuer's. Absent without an issuer. */
export const signIn = users && (() => users.signinRedirect())

/** @returns the session if the issuer has sent the person back to this page */
export async function finishSignIn(): Promise<Session | undefined> {
  if (!users || !/[?&]state=/.test(location.search)) return undefined
  const url = location.href
  history.replaceState(null, '', location.pathname) // a code is valid once
  await users.signinCallback(url)
  return { token: () => readToken(users), signOut: () => users.signoutRedirect().catch(() => {}) } // some cannot
}

export const keySession = (key: string): Session => ({ token: async () => key })

const MIN_SECONDS = 10 // in which a request is sent and checked
let renewal: Promise<unknown> | undefined // one for all requests: a refresh token is valid once

async function readToken(users: UserManager): Promise<string> {
  const { expires_in: seconds = 0, refresh_token } = (await users.getUser()) ?? {}
  if (seconds < MIN_SECONDS && refresh_token) {
    await (renewal ??= users
      .signinSilent()
      .catch(ignoreRejection)
      .finally(() => (renewal = undefined)))
  }
  return (await users.getUser())?.access_token ?? ''
}

/** Then the service rejects the expired token, and the shop asks the person to sign in. */
function ignoreRejection(error: unknown) {
  if (!(error instanceof ErrorResponse)) throw error
}
