import { randomUUID } from 'node:crypto'

/** Marks a number that needs care while JSON.parse runs. Random for the process, so no document can contain it. */
const PLACEHOLDER = randomUUID()

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g

/** A number that is not plain and short, or a string that looks like one. */
const mayLosePrecision = /\d{16}|\d[.eE]/

/** With more of them behind its digits no number is an int64. Past that it need not be exact, and takes less time. */
const MAX_TRAILING_ZEROS = 20

/**
 * Parses JSON (RFC 8259) exactly: an integer stays that integer however it is written (1e18, 1.0), as a bigint when a
 * double cannot hold it; a number that would be rounded to an integer becomes NaN. All else is as JSON.parse has it.
 * @throws SyntaxError, also for nesting too deep to walk
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!mayLosePrecision.test(text)) return value
  const marked = text.replace(tokens, (token) =>
    token[0] !== '"' && mayLosePrecision.test(token) ? `"${PLACEHOLDER}${token}"` : token,
  )
  try {
    return JSON.parse(marked, (_key, value) => (isMarked(value) ? exactNumber(value.slice(PLACEHOLDER.length)) : value))
  } catch (cause) {
    throw new SyntaxError('JSON nested too deep', { cause })
  }
}

function isMarked(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(PLACEHOLDER)
}

function exactNumber(token: string): number | bigint {
  const double = Number(token)
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e')
  const [whole = '', decimals = ''] = mantissa.split('.')
  const fraction = decimals.replace(/(?<!0)0+$/, '') // looks at each run of zeros once
  const zeros = Number(exponent) - fraction.length
  if (zeros < 0) return Number.isInteger(double) ? Number.NaN : double
  if (!Number.isFinite(double)) return double
  const integer = BigInt(zeros > MAX_TRAILING_ZEROS ? double : whole + fraction + '0'.repeat(zeros))
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : integer
}

/** Writes JSON, bigints as integers to the last digit. Members that are null or undefined are left out. */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  const map = value as Record<string, unknown> // an object that is no array
  // In a loop: through entries, filter and map a page of animals took half as long again.
  let members = ''
  for (const name of Object.keys(map)) {
    const member = map[name]
    if (member !== null && member !== undefined) members += `${members && ','}${JSON.stringify(name)}:${toJson(member)}`
  }
  return `{${members}}`
}
