import type { Config } from '../config.ts'

/** Base URLs of the environments, which end in `/v1`; undefined if not configured. */
export type PublicUrls = Pick<Config, 'PRODUCTION_URL' | 'STAGING_URL'>

/**
 * How a reference in `Link` or `Location` to a path below `/v1` begins. A proxy may strip an environment's path prefix
 * from requests; only a reference that is relative to the URL of the request (RFC 3986 §5) leads back through the proxy.
 * @param path of the request, below `/v1`
 */
export function referenceBase({ PRODUCTION_URL, STAGING_URL }: PublicUrls, path: string): string {
  const prefixed = [PRODUCTION_URL, STAGING_URL].some((url) => url !== undefined && new URL(url).pathname !== '/v1')
  return prefixed ? '../'.repeat(path.split('/').length - 2) : '/v1/'
}
