import { NewPet } from '../../pets/animal.ts'
import { IDEMPOTENCY_HOURS, IDEMPOTENCY_KEY_MAX_LENGTH } from '../../store/idempotency.ts'
import { invalidArgument } from '../../errors.ts'
import { AnimalType, NewPetInput, toContract } from './animal.ts'
import { builder } from './builder.ts'

builder.mutationFields((t) => ({
  createPet: t.field({
    type: AnimalType,
    description:
      'Adds an animal and returns it with its id. The animal is durably stored when this returns. Errors: INVALID_ARGUMENT names up to 20 invalid fields; UNAVAILABLE: nothing was added; DEADLINE_EXCEEDED: the outcome is unknown, retry with the same idempotencyKey.',
    args: {
      input: t.arg({ type: NewPetInput, required: true, description: 'The animal.' }),
      idempotencyKey: t.arg.string({
        description: `Makes a retry safe: for ${IDEMPOTENCY_HOURS} hours the same key with the same input returns the first animal instead of adding another. 1 to ${IDEMPOTENCY_KEY_MAX_LENGTH} visible ASCII characters.`,
      }),
    },
    extensions: { cost: 10, scope: 'pets:write' },
    async resolve(_root, { input, idempotencyKey: key }, { animals, caller, deadline }) {
      if (!caller) throw new Error('Only mutations have a caller')
      const { data: pet, error } = NewPet.safeParse(toContract(input))
      if (error) throw invalidArgument(error.issues, ['input'])
      const once = key == null ? undefined : { clientId: caller.clientId, key }
      const { item } = await deadline.run(() => animals.create(pet, once), { mayHaveExecuted: true })
      return item
    },
  }),
}))
