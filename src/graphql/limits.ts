import { GraphQLError } from 'graphql'

/** Limits of one request. The parser counts tokens; the cost is computed after validation, the others before it. */
export const limits = {
  tokens: 2_000,
  lines: 2_000, // graphql-js counts them for the location of each error
  fields: 250,
  fragments: 100,
  depth: 15, // introspection queries of common clients need 15
  aliases: 30,
  aliasLength: 255, // a response repeats it for each object
  selections: 1_000,
  cost: 1_000,
}

/** Measures of a request that need neither the schema nor variables. */
export type QueryStats = Record<Exclude<keyof typeof limits, 'tokens' | 'cost'>, number>

const LIMIT_LABELS: Record<keyof QueryStats, string> = {
  lines: 'The number of lines',
  fields: 'The number of fields',
  fragments: 'The number of fragments',
  depth: 'The depth',
  aliases: 'The number of aliases',
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
