import { hash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

/**
 * An API key: `pets_`, 256 random bits in base 36, and a checksum that detects mistyped keys without a query. Letters,
 * digits and the underscore only, so that a double click selects all of it.
 */
const KEY_PATTERN = /^pets_[0-9a-z]{57}$/
const CHECKSUM_LENGTH = 7

export function mintKey(): string {
  const secret = BigInt(`0x${randomBytes(32).toString('hex')}`)
  const body = `pets_${secret.toString(36).padStart(50, '0')}`
  return body + checksum(body)
}

/** Whether the text has the form and the checksum of a key; it may still be unknown, expired or revoked. */
export function isWellFormedKey(text: string): boolean {
  return KEY_PATTERN.test(text) && checksum(text.slice(0, -CHECKSUM_LENGTH)) === text.slice(-CHECKSUM_LENGTH)
}

/** The SHA-256 of a key, which is what is stored. 256 random bits need neither salt nor a slow hash. */
export function hashKey(key: string): Buffer {
  return hash('sha256', key, 'buffer')
}

/** What may be shown of a key: enough to tell keys apart, far too little to guess the rest. */
export function keyPrefix(key: string): string {
  return key.slice(0, 'pets_'.length + 8)
}

function checksum(body: string): string {
  return crc32(body).toString(36).padStart(CHECKSUM_LENGTH, '0')
}
