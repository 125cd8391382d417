/** The requests of each variant: they differ in the cursor and, for PostGraphile, in the generated schema. */
export interface Dialect {
  /** The cursor that stands for the place right behind the row with this id, in the list of all or with a status. */
  cursor(id: number, status?: string): string
  /** The cursor of REST, if that is another one. */
  restCursor?: (id: number) => string
  /** Each selects `pets`, `pet` or `createPet` with the same members, under these names. */
  list: string
  get: string
  create: string
}

const animal = 'id name categoryId status'
const pageInfo = 'pageInfo { hasNextPage endCursor }'

const schemaFirst = {
  list: `query Pets($after: String) { pets(first: 20, after: $after) { nodes { ${animal} } ${pageInfo} } }`,
  get: `query Pet($id: ID!) { pet(id: $id) { ${animal} } }`,
  create: `mutation Add { createPet(input: { name: "Rex", categoryId: "1", status: available }) { ${animal} } }`,
}

export const serviceDialect: Dialect = {
  ...schemaFirst,
  cursor: (id, status = 'all') => Buffer.from(`${status}:${id}`).toString('base64url'),
}

/** The peers of ours: the same schema, and the id itself as the cursor. */
export const plainDialect: Dialect = { ...schemaFirst, cursor: String }

/** Pothos's cursor has the type and the value of the column; its REST routes are by hand. */
export const pothosDialect: Dialect = {
  ...plainDialect,
  restCursor: String,
  cursor: (id) => Buffer.from(`GPC:I:${id}`).toString('base64'),
}

const inferred = 'id: rowId name categoryId status'

/** PostGraphile makes its schema from the tables; its cursor is a digest of the order, always the same, and the id. */
export const postgraphileDialect: Dialect = {
  list: `query Pets($after: Cursor) { pets: allAnimals(first: 20, after: $after, orderBy: PRIMARY_KEY_DESC) { nodes { ${inferred} } ${pageInfo} } }`,
  get: `query Pet($id: BigInt!) { pet: animalByRowId(rowId: $id) { ${inferred} } }`,
  create: `mutation Add { createPet: createAnimal(input: { animal: { name: "Rex", categoryId: "1", status: available } }) { animal { ${inferred} } } }`,
  cursor: (id) => Buffer.from(JSON.stringify(['8bd0898be1', String(id)])).toString('base64'),
}
