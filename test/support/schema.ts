import { createSchema } from '../../src/graphql/schema/index.ts'
import { RESOURCES } from '../../src/resources.ts'

/** The schema of the service. */
export const schema = createSchema(RESOURCES)
