import { z } from 'zod'
import { CREATE_SIZE, NewPet, NewPets } from '../../animals/animal.ts'
import { IDEMPOTENCY_HOURS, IDEMPOTENCY_KEY_MAX_LENGTH, type IdempotencyRequest } from '../../animals/idempotency.ts'
import { invalidArgument } from '../../errors.ts'
import { AnimalType, NewPetInput, toContract } from './animal.ts'
import { builder, type GraphQLContext } from './builder.ts'

const COST = 10

const CreatePetsArgs = z.object({ inputs: NewPets })

const describeKey = (input: string, animals: string, another: string) =>
  `Makes a retry safe: for ${IDEMPOTENCY_HOURS} hours the same key with the same ${input} returns the first ${animals} instead of adding ${another}. 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters.`

builder.mutationFields((t) => ({
  createPet: t.field({
    type: AnimalType,
    description:
      'Adds an animal and returns it with its id. The animal is durably stored when this returns. Errors: INVALID_ARGUMENT names up to 20 invalid fields; UNAVAILABLE: nothing was added; DEADLINE_EXCEEDED: the outcome is unknown, retry with the same idempotencyKey.',
    args: {
      input: t.arg({ type: NewPetInput, required: true, description: 'The animal.' }),
      idempotencyKey: t.arg.string({ description: describeKey('input', 'animal', 'another') }),
    },
    extensions: { cost: COST },
    async resolve(_root, { input, idempotencyKey }, context) {
      const { data: pet, error } = NewPet.safeParse(toContract(input))
      if (error) throw invalidArgument(error.issues, ['input'])
      return create(context, idempotencyKey, async (once) => (await context.animals.create(pet, once)).animal)
    },
  }),
  createPets: t.field({
    type: [AnimalType],
    description: `Adds ${CREATE_SIZE.min} to ${CREATE_SIZE.max} animals, all or none, and returns them in the order of the inputs, which is that of their ids. They are durably stored when this returns. Errors as of createPet: a field is named with the index of its input. Costs ${COST} for each animal.`,
    args: {
      inputs: t.arg({ type: [NewPetInput], required: true, description: 'The animals.' }),
      idempotencyKey: t.arg.string({ description: describeKey('inputs', 'animals', 'others') }),
    },
    // A number out of range is rejected before anything is written.
    extensions: { cost: ({ inputs }) => (inputs.length <= CREATE_SIZE.max ? COST * inputs.length : 1) },
    resolve(_root, { inputs, idempotencyKey }, context) {
      const { inputs: pets } = CreatePetsArgs.parse({ inputs: inputs.map(toContract) })
      return create(context, idempotencyKey, async (once) => (await context.animals.createMany(pets, once)).animals)
    },
  }),
}))

/** Runs a creation, once for each idempotency key of the caller. */
async function create<T>(
  { caller, deadline }: GraphQLContext,
  key: string | null | undefined,
  run: (once: IdempotencyRequest | undefined) => Promise<T>,
): Promise<T> {
  if (!caller) throw new Error('Only mutations have a caller')
  const once = key == null ? undefined : { clientId: caller.clientId, key }
  return deadline.run(() => run(once), { mayHaveExecuted: true })
}
