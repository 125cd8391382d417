import fc from 'fast-check'
import type { GraphQLArgument, GraphQLField, GraphQLObjectType } from 'graphql'
import { getNamedType, isObjectType, isRequiredArgument } from 'graphql'
import { NoUnusedFragmentsRule, NoUnusedVariablesRule, specifiedRules } from 'graphql'
import { createSchema } from '../../src/graphql/schema/index.ts'
import { pets } from '../../src/pets/index.ts'

/** With one resource, whatever the service serves: the documents have its types and arguments. */
export const schema = createSchema([pets])

/** The rules of validation for these documents, which declare variables and fragments that they may not use. */
export const RULES = specifiedRules.filter((rule) => ![NoUnusedFragmentsRule, NoUnusedVariablesRule].includes(rule))

/** Literals and variables for arguments, by the name of their type. */
const ARGUMENTS: Record<string, string[]> = {
  Int: ['1', '2', '100', '0', '101', 'null', '$n', '$constructor', '$__proto__'],
  ID: ['1', '"2"', '"3"', '"999"', '"x"', '$i'],
  PetStatus: ['sold', 'pending', 'null', '$s'],
  String: ['"YWxsOjM"', '"Animal"', '"nonsense"', 'null', '$c'],
  NewPet: [
    '$p',
    '{ name: "e", categoryId: 1 }',
    '{ name: " ", categoryId: 1 }',
    '{ name: "f", categoryId: "x", status: $s }',
    '{ name: "g", categoryId: $i, status: sold }',
  ],
}

/** Response names that equal inherited members of objects. Each belongs to one field, so that fields never conflict. */
const COLLIDING_ALIASES: Record<string, string> = { name: '__proto__', status: 'constructor', id: 'toString' }

/** The type of each fragment: F0, F1 and so on. A fragment spreads only later ones. */
const FRAGMENT_TYPES = ['Query', 'AnimalConnection', 'AnimalEdge', 'Animal', 'Animal', 'PageInfo']

const directive = fc.oneof(
  { weight: 6, arbitrary: fc.constant('') },
  fc
    .tuple(fc.constantFrom('include', 'skip'), fc.constantFrom('$w', '$y', 'true', 'false'))
    .map(([name, value]) => ` @${name}(if: ${value})`),
)

/**
 * Generates selection sets of a type: fields with aliases, arguments and directives, inline fragments, and spreads of
 * the fragments from `firstFragment` on.
 */
export function selectionSetOf(typeName: string, firstFragment = 0, nesting = 0): fc.Arbitrary<string> {
  const type = schema.getType(typeName) as GraphQLObjectType // the callers name only types of objects
  const setOf = (name: string, deeper = 0) => selectionSetOf(name, firstFragment, nesting + deeper)
  const spreads = FRAGMENT_TYPES.flatMap((name, n) => (name === typeName && n >= firstFragment ? [`F${n}`] : []))
  const inline = fc.constantFrom('', ` on ${typeName}`)
  const selection = fc.oneof(
    fc.constant('__typename'),
    ...Object.values(type.getFields()).map((field) => ({ weight: 2, arbitrary: fieldOf(field, setOf) })),
    ...spreads.map((name) => directive.map((condition) => `...${name}${condition}`)),
    ...(nesting < 2
      ? [fc.tuple(inline, directive, setOf(typeName, 1)).map(([on, condition, set]) => `...${on}${condition} ${set}`)]
      : []),
  )
  return fc.array(selection, { minLength: 1, maxLength: 3 }).map((all) => `{ ${all.join(' ')} }`)
}

/** A field has an alias for each combination of arguments, so that fields of one response name never conflict. */
function fieldOf({ name, args, type }: GraphQLField<unknown, unknown>, setOf: typeof selectionSetOf) {
  const result = getNamedType(type)
  const set = isObjectType(result) ? setOf(result.name) : fc.constant('')
  return fc
    .tuple(fc.tuple(...args.map(argumentOf)), fc.boolean(), directive, set)
    .map(([all, isAliased, condition, set]) => {
      const values = all.filter(Boolean).join(', ')
      const ownAlias = isAliased && !args.length ? `${COLLIDING_ALIASES[name] ?? `x_${name}`}: ` : ''
      const alias = values ? `${name}_${values.replace(/\W+/g, '_')}: ` : ownAlias
      return `${alias}${name}${values && `(${values})`}${condition} ${set}`
    })
}

function argumentOf(arg: GraphQLArgument): fc.Arbitrary<string> {
  const values = (ARGUMENTS[getNamedType(arg.type).name] ?? []).map((value) => `${arg.name}: ${value}`)
  return isRequiredArgument(arg) ? fc.constantFrom(...values) : fc.constantFrom('', '', ...values)
}

/** Generates the definitions of all fragments. */
export const fragments = fc
  .tuple(...FRAGMENT_TYPES.map((type, n) => selectionSetOf(type, n + 1)))
  .map((sets) => sets.map((set, n) => `fragment F${n} on ${FRAGMENT_TYPES[n]} ${set}`).join('\n'))
