import { randomUUID } from 'node:crypto'
import type { Response } from 'express'

/** Marks a number that may lose precision in JSON.parse. Random for the process, so that no document can contain it. */
const PLACEHOLDER = randomUUID()

/** Numbers, and strings, so that digits in them are skipped. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** Matches numbers with an exponent, a fraction or 16 digits, and strings that contain one. */
const MAY_LOSE_PRECISION = /\d{16}|\d[.eE]/

/** A number with more trailing zeros cannot be an int64. Skipping its exact conversion bounds the CPU time. */
const MAX_TRAILING_ZEROS = 20

/**
 * Parses JSON (RFC 8259) exactly: an integer keeps its value however it is written (1e18, 1.0), as a bigint when a
 * double cannot hold it. A number that would be rounded to an integer becomes NaN. Otherwise the same as JSON.parse.
 * @throws SyntaxError, also for nesting that is too deep for recursion
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!MAY_LOSE_PRECISION.test(text)) return value
  const marked = text.replace(TOKENS, (token) =>
    token[0] !== '"' && MAY_LOSE_PRECISION.test(token) ? `"${PLACEHOLDER}${token}"` : token,
  )
  try {
    return JSON.parse(marked, (_key, member: unknown) =>
      typeof member === 'string' && member.startsWith(PLACEHOLDER)
        ? exactNumber(member.slice(PLACEHOLDER.length))
        : member,
    )
  } catch (cause) {
    throw new SyntaxError('JSON nested too deep', { cause })
  }
}

function exactNumber(token: string): number | bigint {
  const double = Number(token)
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e')
  if (!/[1-9]/.test(mantissa)) return 0
  const [whole = '', decimals = ''] = mantissa.split('.')
  const digits = (whole + decimals).replace(/(?<!0)0+$/, '') // linear: examines each run of zeros once
  const zeros = Number(exponent) + whole.length - digits.length
  if (zeros < 0) return Number.isInteger(double) ? Number.NaN : double
  if (!Number.isFinite(double)) return double
  const integer = BigInt(zeros > MAX_TRAILING_ZEROS ? double : digits + '0'.repeat(zeros))
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : integer
}

/**
 * Serialises to JSON, with bigints as exact integers. Members that are null or undefined are omitted. The names of members
 * are those of the contract, which need no escaping: to escape each takes a third of the time for a page of animals.
 */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  const map = value as Record<string, unknown> // arrays were handled above
  // A loop: entries, filter and map take 50 % more time for a page of animals.
  let members = ''
  for (const name of Object.keys(map)) {
    const member = map[name]
    if (member !== null && member !== undefined) members += `${members && ','}"${name}":${toJson(member)}`
  }
  return `{${members}}`
}

/** Sends a JSON body. Five times as fast as `res.type('json').send(json)`. */
export function sendJson(res: Response, json: string, mediaType = 'application/json'): void {
  res.setHeader('Content-Type', `${mediaType}; charset=utf-8`)
  res.setHeader('Content-Length', Buffer.byteLength(json)) // Node omits it in responses to HEAD
  res.end(json)
}
