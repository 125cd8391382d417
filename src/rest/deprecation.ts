/** When getPet is removed (specification §4.3). */
export const SUNSET_AT = new Date('2030-12-05T00:00:00Z')
/** When version 1.0.0 of the REST API declared getPet deprecated. */
const DEPRECATED_AT = new Date('2025-12-05T00:00:00Z')

export const SUNSET_DATE = SUNSET_AT.toLocaleDateString('en-GB', { dateStyle: 'long', timeZone: 'UTC' })
/** Values of the headers Deprecation (RFC 9745) and Sunset (RFC 8594). */
export const DEPRECATION = `@${DEPRECATED_AT.getTime() / 1000}`
export const SUNSET = SUNSET_AT.toUTCString()
