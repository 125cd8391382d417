import { randomUUID } from 'node:crypto'

/** Stands for a long number while JSON.parse runs. Random for the process, so no document can contain it. */
const MARK = randomUUID()

const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g
const mayHoldLongNumber = /\d[\d.]{15}/

/**
 * Parses JSON (RFC 8259) exactly: an integer that a double cannot hold becomes a bigint, and any other long number
 * NaN, rather than its neighbour. Everything else is as JSON.parse has it.
 * @throws SyntaxError, also for nesting too deep to walk
 */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text)
  if (!mayHoldLongNumber.test(text)) return value
  const marked = text.replace(tokens, (token) =>
    token.length > 15 && token[0] !== '"' ? `{"${MARK}":"${token}"}` : token,
  )
  try {
    return JSON.parse(marked, (_key, value) => (isMarked(value) ? exactNumber(value[MARK]) : value))
  } catch (cause) {
    throw new SyntaxError('JSON nested too deep', { cause })
  }
}

function isMarked(value: unknown): value is Record<typeof MARK, string> {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, MARK)
}

function exactNumber(digits = ''): number | bigint {
  if (!/^-?\d+$/.test(digits)) return Number.NaN
  const number = Number(digits)
  return Number.isSafeInteger(number) ? number : BigInt(digits)
}

/** Writes JSON, bigints as integers to the last digit. Members that are null or undefined are left out. */
export function toJson(value: unknown): string {
  if (typeof value === 'bigint') return value.toString()
  if (Array.isArray(value)) return `[${value.map(toJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== undefined)
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toJson(member)}`).join(',')}}`
}
