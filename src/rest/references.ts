import type { Config } from '../config.ts'

/** Base URLs of the environments, which end in `/v1`; undefined if not configured. */
export type PublicUrls = Pick<Config, 'PRODUCTION_URL' | 'STAGING_URL'>

/**
 * How references in `Link` and `Location` begin: with `/v1/`, unless an environment's URL has a path prefix. A proxy may
 * strip the prefix from requests, so only references that are relative to the URL of the request (RFC 3986 §5; RFC 8288
 * §3.1, RFC 9110 §10.2.2) lead back through the proxy.
 * @param path of the request, below `/v1`
 * @returns the beginning of a reference to another path below `/v1`
 */
export function referenceBase({ PRODUCTION_URL, STAGING_URL }: PublicUrls, path: string): string {
  const prefixed = [PRODUCTION_URL, STAGING_URL].some((url) => url !== undefined && new URL(url).pathname !== '/v1')
  return prefixed ? '../'.repeat(path.split('/').length - 2) : '/v1/'
}
