import { hash } from 'node:crypto'
import pg from 'pg'
import { NAMESPACE } from '../project.ts'

/** BIGINT as bigint; all other types as pg reads them. */
const types = {
  getTypeParser: (oid: number): ((text: string) => unknown) =>
    oid === pg.types.builtins.INT8 ? BigInt : pg.types.getTypeParser(oid),
}

/** Names by text: a hash, so that a connection shared through a pooler never runs another client's statement. */
const names = new Map<string, string>()

/** A statement that is prepared once per connection. */
export function toPreparedStatement(text: string, values: unknown[]): pg.QueryConfig {
  const name = names.get(text) ?? `${NAMESPACE}_${hash('sha256', text).slice(0, 32)}`
  names.set(text, name)
  return { name, text, values, types: types as pg.CustomTypesConfig } // pg's type wants any
}
