import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { onTestFinished } from 'vitest'
import { occupyPort } from './processes.ts'

export const AUDIENCE = 'https://pets.example'

/** Subjects. Those that end so must not be printed: see key-leaks.ts. */
export const [ANN, BOB] = ['ann@people.example', 'bob@people.example']

/** An issuer of access tokens, whose keys and faults a test controls. @param defer registers what stops it */
export async function startIssuer(defer: (stop: () => void) => void = onTestFinished) {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const issuer = {
    url: '',
    keys: [{ ...(await exportJWK(publicKey)), kid: 'first', alg: 'ES256', use: 'sig' }] as object[],
    privateKey,
    /** What it responds, if it is not the metadata or the keys. */
    fault: undefined as number | 'silence' | 'stall' | undefined,
    metadata: {} as object,
    /** Paths of requests. */
    requests: [] as string[],
    /** @returns a token of one hour with both scopes, unless the claims and the header say otherwise */
    sign(claims: Record<string, unknown> = {}, header: object = {}, key: Parameters<SignJWT['sign']>[0] = privateKey) {
      const nowS = Math.floor(Date.now() / 1000)
      const scope = 'openid pets:read pets:write'
      const payload = { iss: issuer.url, aud: AUDIENCE, sub: ANN, scope, iat: nowS, exp: nowS + 3600, ...claims }
      return new SignJWT(payload).setProtectedHeader({ alg: 'ES256', kid: 'first', typ: 'at+jwt', ...header }).sign(key)
    },
    /** Adds a key with the name of its algorithm. @returns also a function that signs with it */
    async add(alg: string) {
      const { publicKey, privateKey } = await generateKeyPair(alg)
      issuer.keys.push({ ...(await exportJWK(publicKey)), kid: alg })
      return { publicKey, sign: () => issuer.sign({}, { alg, kid: alg }, privateKey) }
    },
    /** Signs with a new key from now on. @param published whether it is among the keys of the issuer */
    async rotate(kid: string, published = true) {
      const pair = await generateKeyPair('ES256')
      if (published) issuer.keys = [{ ...(await exportJWK(pair.publicKey)), kid, alg: 'ES256' }]
      return (claims?: Record<string, unknown>) => issuer.sign(claims, { kid }, pair.privateKey)
    },
  }
  const server = createServer((req, res) => {
    issuer.requests.push(req.url ?? '')
    if (issuer.fault === 'silence') return
    if (issuer.fault === 'stall') return void res.write('{')
    res.statusCode = issuer.fault ?? 200
    if (issuer.fault) return void res.end('fault')
    if (req.url?.endsWith('/moved')) return void res.writeHead(302, { Location: 'jwks' }).end()
    const { url, keys, metadata } = issuer
    const isMetadata = req.url?.endsWith('/.well-known/openid-configuration')
    res.end(JSON.stringify(isMetadata ? { issuer: url, jwks_uri: `${url}/jwks`, ...metadata } : { keys }))
  })
  issuer.url = `http://127.0.0.1:${(await occupyPort(server)).port}/realm`
  defer(() => server.close().closeAllConnections())
  return issuer
}

export type Issuer = Awaited<ReturnType<typeof startIssuer>>
