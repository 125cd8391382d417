/** Base addresses of the environments, where they are configured; each ends in `/v1`. */
export type Environments = Record<'production' | 'staging', string | undefined>

/**
 * Decides how `Link` and `Location` refer to the REST API: by a path from the root, `/v1/…`, unless an environment has a
 * longer path. That is the prefix of a proxy, which may strip it from requests: only references that are relative to the
 * URL of the request (RFC 3986 §5; see RFC 8288 §3.1 and RFC 9110 §10.2.2) lead back through the proxy then.
 * @returns what a reference to a path below `/v1` begins with, in responses to requests for each path
 */
export function referenceBases(environments: Environments): Record<'/pets' | '/pets/{petId}', string> {
  const prefixed = Object.values(environments).some((url) => url !== undefined && new URL(url).pathname !== '/v1')
  return prefixed ? { '/pets': '', '/pets/{petId}': '../' } : { '/pets': '/v1/', '/pets/{petId}': '/v1/' }
}
