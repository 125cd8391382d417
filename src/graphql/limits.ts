import { GraphQLError } from 'graphql'

/** Limits of one request. The parser counts tokens; the cost is computed after validation, the others before it. */
export const limits = {
  tokens: 800, // validation compares fragments in pairs; introspection queries of common clients need 190
  lines: 500, // graphql-js counts them for each error, of an execution too: with 1,000 and 60 errors for 10 ms
  variables: 50, // graphql-js reports each that is not used or not defined
  aliases: 100, // each is a value for each object: with 260 and 100 animals, execution takes 15 ms
  introspectionAliases: 30, // introspection is executed at once, and each alias repeats what it selects
  aliasLength: 255, // a response repeats it for each object
  selections: 300, // validation compares fields of one name in pairs; introspection queries need 240
  cost: 1_000,
}

/** Measures of a request that need neither the schema nor variables. */
export type QueryStats = Record<Exclude<keyof typeof limits, 'tokens' | 'cost'>, number>

const LIMIT_LABELS: Record<keyof QueryStats, string> = {
  lines: 'The number of lines',
  variables: 'The number of variables',
  aliases: 'The number of aliases',
  introspectionAliases: 'The number of aliases in introspection',
  aliasLength: 'The length of an alias',
  selections: 'The number of selections with fragments expanded',
}

export function checkLimits(stats: QueryStats): GraphQLError[] {
  return (Object.keys(LIMIT_LABELS) as (keyof QueryStats)[]) // the keys of the type's own record
    .filter((name) => stats[name] > limits[name])
    .map((name) => limitExceeded(LIMIT_LABELS[name], stats[name], limits[name]))
}

export function limitExceeded(label: string, value: number, limit: number): GraphQLError {
  return new GraphQLError(`${label} is ${value}; the limit is ${limit}.`)
}
