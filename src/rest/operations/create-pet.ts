import { z } from 'zod'
import { NewPet } from '../../pets/animal.ts'
import { IDEMPOTENCY_HOURS, IdempotencyKey } from '../../store/idempotency.ts'
import { MAX_BODY_BYTES } from '../../http/body.ts'
import { sendJson, toJson } from '../../http/json.ts'
import { callerOf } from '../../http/request.ts'
import { header, json, NEW_REX, NEW_TOM, REX } from '../openapi/components.ts'
import type { Operation } from '../operation.ts'

const Headers = z.object({
  'Idempotency-Key': IdempotencyKey.optional().meta({
    description: `Chosen by the client, new for each animal. For ${IDEMPOTENCY_HOURS} hours the same key with the same body returns the first animal.`,
    examples: ['8e03978e-40d5-43e8-bc93-6894a57f9324'],
  }),
})

export const createPet: Operation = {
  method: 'post',
  path: '/pets',
  scope: 'pets:write',
  parameters: { header: Headers },
  errors: [
    'INVALID_ARGUMENT',
    'ABORTED',
    'PAYLOAD_TOO_LARGE',
    'UNSUPPORTED_MEDIA_TYPE',
    'IDEMPOTENCY_KEY_REUSED',
    'DEADLINE_EXCEEDED',
  ],
  createHandler({ animals }, base) {
    return async (req, res) => {
      const key = req.headers['idempotency-key']
      const once = key === undefined ? undefined : { clientId: callerOf(req).clientId, key: String(key) }
      const pet = NewPet.parse(req.body)
      const { item: animal, replayed } = await req.deadline.run(() => animals.create(pet, once), {
        mayHaveExecuted: true,
      })
      if (replayed) res.setHeader('Idempotent-Replayed', 'true')
      res.status(201).setHeader('Location', `${base}pets/${animal.id}`)
      sendJson(res, toJson(animal))
    }
  },
  document: {
    operationId: 'createPet',
    summary: 'Add an animal',
    description:
      'Adds an animal and returns it with its new id. A 201 response means that the animal is durably stored. With an `Idempotency-Key` the request may be repeated safely.',
    requestBody: {
      required: true,
      description: `The animal, at most ${MAX_BODY_BYTES / 1024} KiB.`,
      content: json('NewPet', {
        status: { summary: 'With a status', value: NEW_REX },
        plain: { summary: 'Without a status', value: NEW_TOM },
      }),
    },
    responses: {
      201: {
        description: 'The animal was added, by this request or by an earlier one with the same key.',
        headers: {
          Location: header('The new animal, relative to the URL of the request.', '/v1/pets/42', '^(/v1/)?pets/\\d+$'),
          'Idempotent-Replayed': {
            ...header('An earlier request with the same key added the animal.', 'true', '^true$'),
            required: false,
          },
        },
        content: json('Animal', { rex: { summary: 'The new animal', value: REX } }),
      },
    },
  },
}
