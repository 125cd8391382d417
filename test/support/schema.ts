import { createSchema } from '../../src/graphql/schema/index.ts'
import { RESOURCES } from '../../src/resources.ts'

export const schema = createSchema(RESOURCES)
