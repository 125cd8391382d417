import { createHash } from 'node:crypto'
import type { PrismaClient } from '../database/generated/client.ts'
import { ApiError } from '../errors.ts'
import type { Animal, NewPet } from './animal.ts'

/** How long a key is remembered, in hours. After that it means a new animal. */
export const IDEMPOTENCY_HOURS = 24

/** What makes a createPet happen once: whose key it is, and the key that the client chose. */
export interface Once {
  callerId: bigint
  key: string
}

/** A key as the client may choose it: 1 to 255 visible ASCII characters. */
const wellFormed = /^[\x21-\x7e]{1,255}$/

/**
 * createPet, once for a key (draft-ietf-httpapi-idempotency-key-header).
 *
 * One statement claims the key and inserts the animal, so nothing can come between the two: a crash leaves both or
 * neither. Of several at once, on any instance, the one that has the advisory lock goes on and the others are told to
 * come back (409): nobody waits on a connection. A key that another request has used is left alone by ON CONFLICT, also
 * when that request committed after this statement began; a key past its time is taken over.
 *
 * @returns the animal, and whether an earlier request made it
 * @throws ApiError ABORTED while another request with the key is in flight, IDEMPOTENCY_KEY_REUSED when the key was
 *   used for another animal, INVALID_ARGUMENT when it is no key
 */
export async function createOnce(
  prisma: PrismaClient,
  { callerId, key }: Once,
  pet: NewPet,
): Promise<{ animal: Animal; replayed: boolean }> {
  if (!wellFormed.test(key)) {
    throw new ApiError('INVALID_ARGUMENT', 'Idempotency-Key: must be 1 to 255 visible ASCII characters')
  }
  const fingerprint = fingerprintOf(pet)
  const { name, categoryId, status = null } = pet
  const [outcome] = await prisma.$queryRaw<{ claimed: boolean; id: bigint | null }[]>`
    WITH claim AS MATERIALIZED (
      SELECT pg_try_advisory_xact_lock(hashtextextended(${`${callerId} ${key}`}, 0)) AS claimed
    ), used AS (
      INSERT INTO idempotency_key AS earlier (api_key_id, key, fingerprint, animal_id)
      SELECT ${callerId}, ${key}, ${fingerprint}, nextval('animal_id_seq') FROM claim WHERE claimed
      ON CONFLICT (api_key_id, key) DO UPDATE
        SET fingerprint = excluded.fingerprint, animal_id = excluded.animal_id, created_at = excluded.created_at
        WHERE earlier.created_at < now() - make_interval(hours => ${IDEMPOTENCY_HOURS}::int)
      RETURNING animal_id
    ), created AS (
      INSERT INTO animal (id, name, category_id, status)
      SELECT animal_id, ${name}, ${categoryId}, ${status}::pet_status FROM used
      RETURNING id
    )
    SELECT claimed, (SELECT id FROM created) AS id FROM claim`
  if (!outcome?.claimed) throw inFlight()
  if (outcome.id !== null) return { animal: { id: outcome.id, name, categoryId, status }, replayed: false }

  const earlier = await prisma.idempotencyKey.findUnique({
    where: { apiKeyId_key: { apiKeyId: callerId, key } },
    include: { animal: true },
  })
  if (!earlier) throw inFlight() // pruned a moment ago: the next try makes an animal
  if (!fingerprint.equals(earlier.fingerprint)) {
    throw new ApiError('IDEMPOTENCY_KEY_REUSED', 'This Idempotency-Key was used with another body.')
  }
  return { animal: earlier.animal, replayed: true }
}

function inFlight(): ApiError {
  const headers = { 'Retry-After': '1' }
  return new ApiError('ABORTED', 'A request with this Idempotency-Key is still in flight.', { headers })
}

/** Forgets keys that are past their time, by the same clock as createOnce. @returns how many */
export async function pruneIdempotencyKeys(prisma: PrismaClient): Promise<number> {
  return prisma.$executeRaw`
    DELETE FROM idempotency_key WHERE created_at < now() - make_interval(hours => ${IDEMPOTENCY_HOURS}::int)`
}

/** The same for requests that ask for the same animal, however their bodies are written. */
function fingerprintOf({ name, categoryId, status }: NewPet): Buffer<ArrayBuffer> {
  const text = JSON.stringify([name, categoryId.toString(), status ?? null])
  return Buffer.from(new Uint8Array(createHash('sha256').update(text).digest()))
}
