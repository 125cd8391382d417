import {
  getNamedType,
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLSchema,
  isLeafType,
  isObjectType,
  isRequiredArgument,
} from 'graphql'

/** A random number generator that repeats its sequence for a seed (mulberry32). */
export function createRandom(seed: number) {
  let state = seed
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const below = (n: number): number => Math.floor(next() * n)
  return {
    below,
    chance: (probability: number): boolean => next() < probability,
    pick: <T>(values: readonly T[]): T => values[below(values.length)] as T, // an index within the array
  }
}
export type Random = ReturnType<typeof createRandom>

export interface RandomDocument {
  query: string
  /** Names of the operations; undefined for an anonymous operation. */
  operationNames: (string | undefined)[]
}

/** Variables that documents use: how an operation declares them, and the values that requests send. */
const VARIABLES: Record<string, { declarations: string[]; values: unknown[] }> = {
  w: { declarations: ['Boolean!', 'Boolean! = true'], values: [true, false] },
  y: { declarations: ['Boolean!', 'Boolean = false'], values: [true, false] },
  n: { declarations: ['Int', 'Int = 2', 'Int! = 3'], values: [1, 3, 100, 0, null, 2.5, 'x', 2 ** 31, 10n ** 20n] },
  constructor: { declarations: ['Int', 'Int = 100', 'Int! = 3'], values: [4, null] },
  ['__proto__']: { declarations: ['Int', 'Int = 3'], values: [1, null] },
  i: { declarations: ['ID!', 'ID! = "2"'], values: ['1', 2, '999', 'x', null, 1.5, 2n ** 60n, Number.NaN] },
  s: { declarations: ['PetStatus', 'PetStatus = sold'], values: ['sold', 'available', null, 'lost'] },
  c: { declarations: ['String'], values: ['YWxsOjM', 'bm9uc2Vuc2U', null] },
  p: {
    declarations: ['NewPet!'],
    values: [
      { name: 'a', categoryId: 1 },
      { name: '', categoryId: '2' },
      { name: 'b', categoryId: 'x', status: null },
      { categoryId: '1' },
      { name: 'c', categoryId: '3', status: 'sold' },
      { name: 'd', categoryId: '3', unknown: 1 },
    ],
  },
  k: { declarations: ['String'], values: [null] },
}

/** Literals and variables for arguments, by the name of their type. */
const ARGUMENTS: Record<string, string[]> = {
  Int: ['1', '2', '100', '0', '101', 'null', '$n', '$constructor', '$__proto__'],
  ID: ['1', '"2"', '"3"', '"999"', '"x"', '$i'],
  PetStatus: ['sold', 'pending', 'null', '$s'],
  String: ['"YWxsOjM"', '"Animal"', '"nonsense"', 'null', '$c'],
  Boolean: ['true', 'false', '$w'],
  NewPet: [
    '$p',
    '{ name: "e", categoryId: 1 }',
    '{ name: " ", categoryId: 1 }',
    '{ name: "f", categoryId: "x", status: $s }',
    '{ name: "g", categoryId: $i, status: sold }',
  ],
}

/** Response names that equal inherited members of objects. Each belongs to one field, so that fields never conflict. */
const COLLIDING_ALIASES: Record<string, string> = {
  name: '__proto__',
  status: 'constructor',
  id: 'toString',
  hasNextPage: 'hasOwnProperty',
}

/** Arguments that are never generated, because the comparison does not implement them. */
const IGNORED_ARGUMENTS = new Set(['idempotencyKey'])

/**
 * A document generated from the schema: fragments that are nested and shared, directives, aliases, inline fragments,
 * several operations, fields that fail. Most are valid.
 */
export function randomDocument(schema: GraphQLSchema, random: Random): RandomDocument {
  const { below, chance, pick } = random
  const withDirectives = chance(0.5)
  const fragmentTypes = Array.from({ length: below(5) }, () =>
    pick(['Query', 'AnimalConnection', 'AnimalEdge', 'Animal', 'Animal', 'PageInfo']),
  )

  function selectionSet(type: GraphQLObjectType, depth: number, firstFragment: number): string {
    // Half of the operations have one root field: only those are compiled.
    const count = depth === 1 && chance(0.5) ? 1 : 1 + below(3)
    const selections = Array.from({ length: count }, () => selection(type, depth, firstFragment))
    return `{ ${selections.join(' ')} }`
  }

  function selection(type: GraphQLObjectType, depth: number, firstFragment: number): string {
    const spreadable = fragmentTypes.flatMap((name, n) => (name === type.name && n >= firstFragment ? [n] : []))
    if (spreadable.length && chance(0.35)) return `...f${pick(spreadable)}${directive()}`
    if (depth < 6 && chance(0.12)) {
      return `...${chance(0.5) ? ` on ${type.name}` : ''}${directive()} ${selectionSet(type, depth + 1, firstFragment)}`
    }
    const meta: (string | undefined)[] = type === schema.getQueryType() && chance(0.05) ? ['__type'] : [undefined]
    const name = meta[0] ?? pick([...Object.keys(type.getFields()), '__typename'])
    const field = fieldOf(type, name)
    if (!field) return name + directive()
    return fieldSelection(field, depth, firstFragment)
  }

  function fieldOf(type: GraphQLObjectType, name: string): GraphQLField<unknown, unknown> | undefined {
    return type.getFields()[name] ?? (name === '__type' ? schema.getQueryType()?.getFields()[name] : undefined)
  }

  function fieldSelection(field: GraphQLField<unknown, unknown>, depth: number, firstFragment: number): string {
    const args = field.args.filter((arg) => !IGNORED_ARGUMENTS.has(arg.name)).flatMap((arg) => argument(arg))
    const text = args.length ? `(${args.join(', ')})` : ''
    // An alias for each combination of arguments: fields of one response name never conflict.
    const alias = field.args.length
      ? `${field.name}_${text.replace(/\W+/g, '_')}: `
      : chance(0.15)
        ? `${COLLIDING_ALIASES[field.name] ?? `x_${field.name}`}: `
        : ''
    const type = getNamedType(field.type)
    if (isLeafType(type) || !isObjectType(type)) return `${alias}${field.name}${text}${directive()}`
    const subfields = depth < 6 ? selectionSet(type, depth + 1, firstFragment) : '{ __typename }'
    return `${alias}${field.name}${text}${directive()} ${subfields}`
  }

  function argument(arg: GraphQLArgument): string[] {
    const values = ARGUMENTS[getNamedType(arg.type).name]
    if (!values || (!isRequiredArgument(arg) && chance(0.6))) return []
    return [`${arg.name}: ${pick(values)}`]
  }

  function directive(): string {
    if (!withDirectives || !chance(0.2)) return ''
    return ` @${pick(['include', 'skip'])}(if: ${pick(['$w', '$y', 'true', 'false'])})`
  }

  const fragments = fragmentTypes.map((name, n) => {
    const type = schema.getType(name) as GraphQLObjectType // the constant contains names of object types only
    return `fragment f${n} on ${name} ${selectionSet(type, 3, n + 1)}`
  })
  const count = chance(0.25) ? 2 + below(2) : 1
  const operations = Array.from({ length: count }, (_, n) => {
    const type = chance(0.2) ? 'mutation' : 'query'
    const root = type === 'mutation' ? schema.getMutationType() : schema.getQueryType()
    return { type, name: count > 1 || chance(0.3) ? `O${n}` : undefined, body: selectionSet(root!, 1, 0) }
  })
  const texts = operations.map(({ type, name, body }) => {
    const declared = declarations(body, fragments, random)
    return `${name || declared || type === 'mutation' ? `${type} ${name ?? ''}${declared} ` : ''}${body}`
  })
  const used = fragments.filter((_, n) => isReachable(n, texts, fragments))
  return { query: [...texts, ...used].join('\n'), operationNames: operations.map(({ name }) => name) }
}

/** Values of the variables: some are missing, some are invalid. */
export function randomVariables({ chance, pick }: Random): Record<string, unknown> {
  const entries = Object.entries(VARIABLES).filter(([name]) => name === 'w' || name === 'y' || chance(0.8))
  return Object.fromEntries(entries.map(([name, { values }]) => [name, pick(values)]))
}

/** Declares the variables that an operation uses, directly and in the fragments that it spreads. */
function declarations(body: string, fragments: string[], { pick }: Random): string {
  const reachable = fragments.filter((_, n) => isReachable(n, [body], fragments))
  const text = [body, ...reachable].join(' ')
  const names = Object.keys(VARIABLES).filter((name) => new RegExp(`\\$${name}\\b`).test(text))
  if (!names.length) return ''
  return `(${names.map((name) => `$${name}: ${pick(VARIABLES[name]?.declarations ?? [])}`).join(', ')})`
}

function isReachable(target: number, texts: string[], fragments: string[]): boolean {
  const seen = new Set<number>()
  const queue = [...texts]
  for (let text = queue.pop(); text !== undefined; text = queue.pop()) {
    for (const [, digits] of text.matchAll(/\.\.\.f(\d+)/g)) {
      const n = Number(digits)
      if (!seen.has(n)) queue.push(fragments[n] ?? '')
      seen.add(n)
    }
  }
  return seen.has(target)
}
