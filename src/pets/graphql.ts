import { addConnection, type Edge } from '../graphql/schema/connection.ts'
import type { Arguments, Builder } from '../graphql/schema/builder.ts'
import { afterArg, DECIMAL_INT64, idempotencyKeyArg, pageArgs, pageCost } from '../graphql/schema/arguments.ts'
import { resolveCreate, resolveItem, resolveList, subscribeToCreated } from '../graphql/schema/resolvers.ts'
import { type Animal, animals, NAME_MAX_LENGTH, type NewPet, type PetStatus } from './animal.ts'

const { read, write } = animals.scopes
const NAME_SIZE = `1 to ${NAME_MAX_LENGTH} characters`

export function addPets(builder: Builder): void {
  const { StatusType, AnimalType, InputType } = addTypes(builder)
  const { EdgeType, ConnectionType } = addConnection(builder, animals, AnimalType, 'petCreated')
  const filterArgs = (arg: Arguments) => ({
    status: arg({ type: StatusType, description: 'Only animals with this status.' }),
    categoryId: arg.id({ description: `Only animals of this category: ${DECIMAL_INT64}.` }),
  })

  builder.queryFields((t) => ({
    pets: t.field({
      type: ConnectionType,
      description:
        'Animals, newest first, in pages: forward with first and after, backward with last and before. A page of n costs n. Error INVALID_ARGUMENT for a size out of range, or for a cursor from another list.',
      args: { ...filterArgs(t.arg), ...pageArgs(animals, t.arg) },
      extensions: { cost: pageCost, scope: read },
      resolve: resolveList(animals),
    }),
    pet: t.field({
      type: AnimalType,
      nullable: true,
      description: 'One animal. Null, with the error NOT_FOUND, when no animal has this id.',
      args: { id: t.arg.id({ required: true, description: 'An int64 in decimal digits.' }) },
      extensions: { cost: 1, scope: read },
      resolve: resolveItem(animals),
    }),
  }))

  builder.mutationFields((t) => ({
    createPet: t.field({
      type: AnimalType,
      description:
        'Adds an animal and returns it with its id. The animal is durably stored when this returns. Errors: INVALID_ARGUMENT names up to 20 invalid fields; UNAVAILABLE: nothing was added; DEADLINE_EXCEEDED: the outcome is unknown, retry with the same idempotencyKey.',
      args: {
        input: t.arg({ type: InputType, required: true, description: 'The animal.' }),
        idempotencyKey: idempotencyKeyArg(animals, t.arg),
      },
      extensions: { cost: 10, scope: write },
      resolve: resolveCreate(animals),
    }),
  }))

  builder.subscriptionFields((t) => ({
    petCreated: t.field({
      type: EdgeType,
      description:
        'Every animal that is added, oldest first, on every instance. At least once: after a break, continue with the last cursor, and merge by id. Error INVALID_ARGUMENT for a cursor from another list.',
      args: { after: afterArg(animals, t.arg), ...filterArgs(t.arg) },
      extensions: { cost: 10, scope: read },
      subscribe: subscribeToCreated(animals),
      resolve: (edge: Edge<Animal>) => edge,
    }),
  }))
}

function addTypes(builder: Builder) {
  const StatusType = builder.enumType('PetStatus', {
    description: 'Availability of an animal, spelled as in the REST API.',
    values: {
      available: { description: 'Available.' },
      pending: { description: 'Pending.' },
      sold: { description: 'Sold.' },
    } satisfies Record<PetStatus, object>,
  })
  const AnimalType = builder.objectRef<Animal>('Animal').implement({
    description: 'An animal offered in the pet store.',
    fields: (t) =>
      ({
        id: t.id({ description: `Assigned by the service: ${DECIMAL_INT64}.`, resolve: ({ id }) => id.toString() }),
        name: t.exposeString('name', { description: `${NAME_SIZE}, returned exactly as they were sent.` }),
        categoryId: t.id({
          description: `The category that the animal belongs to: ${DECIMAL_INT64}.`,
          resolve: ({ categoryId }) => categoryId.toString(),
        }),
        status: t.expose('status', { type: StatusType, nullable: true, description: 'Null: no status.' }),
      }) satisfies Record<keyof Animal, unknown>,
  })
  const InputType = builder.inputType('NewPet', {
    description: 'An animal to add.',
    fields: (t) =>
      ({
        name: t.string({ required: true, description: `${NAME_SIZE}, not only white space.` }),
        categoryId: t.id({ required: true, description: `The category: ${DECIMAL_INT64}.` }),
        status: t.field({ type: StatusType, description: 'Omitted or null: no status.' }),
      }) satisfies Record<keyof NewPet, unknown>,
  })
  return { StatusType, AnimalType, InputType }
}
