/** The inputs of createPet that the tests of both APIs, the catalogue and the conformance suite send. */

interface InvalidPetCase {
  title: string
  /** JSON text of an object. */
  body: string
  /** Matches the message, which begins with the name of the invalid member. */
  message: RegExp
  /** Section of the specification that rules the body out, or "design" where only this service decided so. */
  source: '§4.2' | 'design'
  /** GraphQL takes it, or rejects it for another reason. */
  onlyREST?: true
}

export const VALID_PET = '{"name":"x","categoryId":1}'
const withMember = (member: string) => `{"name":"x",${member}}`
const nestedArrays = (depth: number, inner = '') => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`

/** Unusual names that are valid: both APIs store and return them unchanged. */
export const VALID_NAMES = [
  { title: 'one letter', name: 'a' },
  { title: '255 characters', name: 'a'.repeat(255) },
  { title: '255 emoji, each two code units', name: '🦜'.repeat(255) },
  { title: 'an emoji', name: '🦜' },
  { title: 'emoji joined with U+200D', name: '👩‍👩‍👧‍👦' },
  { title: 'combining marks', name: 'e\u0301\u0323\u0334' },
  { title: 'precomposed and decomposed é', name: 'é e\u0301' },
  { title: 'bidi controls', name: '\u202eabc\u202c\u2066\u2069' },
  { title: 'line separators', name: 'a\u2028b\u2029c\u0085d\r\ne' },
  { title: 'CRLF and a forged log line', name: 'a\r\n{"level":50,"msg":"forged"}\r\n' },
  { title: 'control characters', name: 'a\u0001\u001b[31mred\u007f' },
  { title: 'a tab and a newline inside', name: 'a\tb\nc' },
  { title: 'leading and trailing blanks', name: '  x  ' },
  { title: 'SQL', name: `'; DROP TABLE animal; --` },
  { title: 'SQL placeholders', name: '$1 $2 ? :name %s' },
  { title: 'HTML', name: '<script>alert(1)</script>&amp;' },
  { title: 'JSON', name: '{"name":"x","categoryId":1}' },
  { title: 'quotes and backslashes', name: `\\"'\`\\u0000` },
  { title: 'template syntax', name: '${7*7} {{7*7}} #{7*7}' },
  { title: '__proto__', name: '__proto__' },
  { title: 'digits', name: '9007199254740993' },
  { title: 'the word null', name: 'null' },
  { title: 'private use and the last code point', name: '\ue000\u{10ffff}' },
  { title: 'a byte order mark', name: '\ufeffx' },
  { title: 'no-break and zero-width space', name: '\u00a0x\u200b' },
]

/** Strings that are no valid name, in either API. */
const INVALID_NAMES = [
  ...['', ' ', ' \t\n\u00a0\u3000', '\0', 'a\0b'],
  ...['a\ud800', '\udc00a', '\udc00\ud800'], // lone surrogates, and two in the wrong order
  ...['x'.repeat(256), '🦜'.repeat(256)],
]

/** Digits of category ids that both APIs store and return unchanged: the limits of int32, of a double and of int64. */
export const VALID_CATEGORY_IDS = [
  ...['0', '1', '-1', '2147483647', '2147483648', '-2147483649', '9007199254740991', '9007199254740992'],
  ...['9007199254740993', '-9007199254740993', '9223372036854775807', '-9223372036854775808'],
]

/** Digits of integers beyond int64, which both APIs reject. */
const OUT_OF_RANGE_CATEGORY_IDS = [
  ...['9223372036854775808', '-9223372036854775809', '1' + '0'.repeat(30), '9'.repeat(400)],
]

export const VALID_STATUSES = ['available', 'pending', 'sold']

/** Strings that are no status, in either API. */
const INVALID_STATUSES = ['', 'SOLD', 'Sold', 'Available', ' sold', 'sold ', 'sold\0', 'gone']

/** Bodies that are not a JSON object: invalid for both APIs. */
export const MALFORMED_BODIES: { title: string; body: string | Buffer; isJson?: true }[] = [
  { title: 'empty', body: '' },
  { title: 'blank', body: ' \t\r\n' },
  { title: 'only a byte order mark', body: '\ufeff' },
  { title: 'not JSON', body: 'name=x' },
  { title: 'a truncated object', body: '{"name":"x",' },
  { title: 'JSON with trailing garbage', body: `${VALID_PET}x` },
  { title: 'two documents', body: `${VALID_PET}${VALID_PET}` },
  { title: 'JSON with a trailing comma', body: '{"name":"x","categoryId":1,}' },
  { title: 'JSON with a comment', body: `/* a */${VALID_PET}` },
  { title: 'JSON with a line comment', body: `${VALID_PET}// a` },
  { title: 'JSON with single quotes', body: "{'name':'x','categoryId':1}" },
  { title: 'JSON with unquoted names', body: '{name:"x",categoryId:1}' },
  { title: 'JSON with NaN', body: withMember('"categoryId":NaN') },
  { title: 'JSON with Infinity', body: withMember('"categoryId":-Infinity') },
  { title: 'JSON with a plus sign', body: withMember('"categoryId":+1') },
  { title: 'JSON with a leading zero', body: withMember('"categoryId":01') },
  { title: 'JSON with a hexadecimal number', body: withMember('"categoryId":0x10') },
  { title: 'JSON with a raw newline in a string', body: '{"name":"a\nb","categoryId":1}' },
  { title: 'JSON with an invalid escape', body: '{"name":"\\x41","categoryId":1}' },
  { title: 'UTF-16', body: Buffer.from(VALID_PET, 'utf16le') },
  { title: 'UTF-8 with a lone continuation byte', body: Buffer.from('{"name":"\x80","categoryId":1}', 'latin1') },
  { title: 'UTF-8 with an overlong NUL', body: Buffer.from('{"name":"\xc0\x80","categoryId":1}', 'latin1') },
  { title: 'UTF-8 with a surrogate', body: Buffer.from('{"name":"\xed\xa0\x80","categoryId":1}', 'latin1') },
  { title: 'UTF-8 truncated in a character', body: Buffer.from('{"name":"\xf0\x9f\xa6', 'latin1') },
  { title: '30,000 nested arrays', body: nestedArrays(30_000), isJson: true },
  { title: '60,000 nested arrays, unclosed', body: '['.repeat(60_000) },
  { title: 'a long number in 30,000 arrays', body: nestedArrays(30_000, '12345678901234567890'), isJson: true },
  { title: '8,000 nested objects', body: `${'{"a":'.repeat(8_000)}1${'}'.repeat(8_000)}`, isJson: true },
  ...['null', 'true', '0', '12345678901234567890', '"x"', '[]', `[${VALID_PET}]`].map((body) => ({
    title: body,
    body,
    isJson: true as const,
  })),
]

/** JSON texts of names that are not strings. */
const NON_STRING_NAMES = ['null', 'true', '1', '1e400', '[]', '["x"]', '{}', '{"toString":1}']

/** JSON texts of category ids that are no integer. A double makes an integer of the last four. */
const NON_INTEGER_CATEGORY_IDS = [
  ...['null', '"x"', '""', 'true', '[1]', '{}', '1.5', '-0.1', '1e-1', '1e400', '1e999999999'],
  ...['4503599627370496.25', '1.0000000000000000001', '1e-400', '0.5e-400'],
]

const NON_STRING_STATUSES = ['0', 'true', '["sold"]', '{}']

/** Objects with invalid members, for createPet of the REST API. */
export const INVALID_PETS: InvalidPetCase[] = [
  { title: 'no name', body: '{"categoryId":1}', message: /^name: /, source: '§4.2' },
  { title: 'no categoryId', body: '{"name":"x"}', message: /^categoryId: /, source: '§4.2' },
  { title: 'an empty object', body: '{}', message: /^name: .*categoryId: /, source: '§4.2' },
  {
    title: 'members of __proto__ only',
    body: '{"__proto__":{"name":"x","categoryId":12345678901234567890}}',
    message: /^name: /,
    source: '§4.2',
  },
  { title: 'capitals', body: '{"Name":"x","CategoryId":1}', message: /^name: .*categoryId: /, source: '§4.2' },
  ...NON_STRING_NAMES.map((value) => invalid('name', value, '§4.2')),
  ...INVALID_NAMES.map((name) => invalid('name', JSON.stringify(name), 'design')),
  ...NON_INTEGER_CATEGORY_IDS.map((value) => invalid('categoryId', value, '§4.2')),
  ...OUT_OF_RANGE_CATEGORY_IDS.map((value) => invalid('categoryId', value, '§4.2')),
  { ...invalid('categoryId', '1e19', '§4.2'), message: /^categoryId: must be an integer from -9223372036854775808/ },
  { ...invalid('categoryId', '"1"', 'design'), message: /must be a JSON integer, not a string$/, onlyREST: true },
  ...NON_STRING_STATUSES.map((value) => invalid('status', value, '§4.2')),
  ...INVALID_STATUSES.map((status) => invalid('status', JSON.stringify(status), '§4.2')),
  { ...invalid('status', 'null', 'design'), onlyREST: true },
]

/** An animal with one invalid member. @param value its JSON text */
function invalid(member: string, value: string, source: InvalidPetCase['source']): InvalidPetCase {
  const members = Object.entries({ name: '"x"', categoryId: '1', [member]: value })
  const body = `{${members.map(([name, text]) => `"${name}":${text}`).join()}}`
  return { title: `${member} ${shorten(value)}`, body, message: new RegExp(`^${member}: `), source }
}

/** A prefix that keeps surrogate pairs whole, since the titles of tests are printed. */
function shorten(value: string): string {
  const characters = [...value]
  return characters.length > 40 ? `${characters.slice(0, 20).join('')}… (${characters.length} characters)` : value
}
