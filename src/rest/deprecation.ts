import type { RequestHandler } from 'express'
import { type Environments, referenceBases } from './references.ts'

/** getPet is gone from then on (specification §4.3). */
export const SUNSET_AT = new Date('2030-12-05T00:00:00Z')
/** When version 1.0.0 of the interface declared it deprecated. */
export const DEPRECATED_AT = new Date('2025-12-05T00:00:00Z')

const deprecation = `@${DEPRECATED_AT.getTime() / 1000}`
const sunset = SUNSET_AT.toUTCString()

/** Marks every response of getPet, whatever its status, as deprecated: RFC 9745, RFC 8594, RFC 5829. */
export function deprecateGetPet(environments: Environments): RequestHandler {
  const link = `<${referenceBases(environments)['/pets/{petId}']}pets>; rel="successor-version"`
  return (req, res, next) => {
    if (/^\/v1\/pets\/[^/]+$/.test(req.path)) {
      res.setHeader('Deprecation', deprecation)
      res.setHeader('Sunset', sunset)
      res.setHeader('Link', link)
    }
    next()
  }
}
