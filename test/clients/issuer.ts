import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import { type Configuration, Provider } from 'oidc-provider'

const worker = { client_id: 'worker', client_secret: 'of the test' }

function toConfiguration(pages: string, accessTokenTTL: number): Configuration {
  return {
    clients: [
      {
        client_id: 'shop',
        redirect_uris: [pages],
        post_logout_redirect_uris: [pages],
        grant_types: ['authorization_code', 'refresh_token'],
        token_endpoint_auth_method: 'none',
        id_token_signed_response_alg: 'ES256',
      },
      {
        ...worker,
        redirect_uris: [],
        response_types: [],
        grant_types: ['client_credentials'],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    clientBasedCORS: () => true,
    cookies: { keys: ['of the test'] },
    scopes: ['openid', 'offline_access', 'pets:read', 'pets:write'],
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_ctx, audience) => ({
          scope: 'pets:read pets:write',
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  }
}

/**
 * Starts a certified issuer. Anybody can sign in on its pages.
 * @param pages where it sends people back to
 */
export async function startIssuer(pages: string, accessTokenTTL = 3_600) {
  const server = createServer((req, res) => handle(req, res)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}` // of a TCP server
  const refreshTokens: { destroy(): Promise<void> }[] = []

  async function createHandler() {
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const keys = [{ ...(await exportJWK(privateKey)), alg: 'ES256', use: 'sig' }]
    const provider = new Provider(url, { ...toConfiguration(pages, accessTokenTTL), jwks: { keys } })
    provider.on('refresh_token.saved', (token) => refreshTokens.push(token))
    return provider.callback()
  }
  let handle = await createHandler()

  return {
    url,
    /** @returns a token of a program (RFC 6749 §4.4). Without a resource it is no JWT */
    async token(request: { scope?: string; resource?: string } = {}): Promise<string> {
      const body = new URLSearchParams({ grant_type: 'client_credentials', ...request })
      const credentials = btoa(Object.values(worker).map(encodeURIComponent).join(':'))
      const headers = { Authorization: `Basic ${credentials}` }
      return (await (await fetch(`${url}/token`, { method: 'POST', headers, body })).json()).access_token
    },
    /** Replaces its key by another one. */
    rotateKey: async () => void (handle = await createHandler()),
    /** Nobody's sign-in is renewed any more. */
    revoke: () => Promise.all(refreshTokens.map((token) => token.destroy())),
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
